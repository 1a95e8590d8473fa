package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine bounds one line of a run file, so that a file that is not one
// cannot fill the memory.
const maxLine = 16 << 20

// spending adds up how long the processes worked that a run file is of.
type spending struct{ said, trials float64 }

// trial is one of the process that has not ended yet.
func (s *spending) trial(elapsed float64) { s.trials += elapsed }

// over is the end of a process that said how long it took, or did not get to say it.
func (s *spending) over(elapsed float64) { s.said, s.trials = s.said+elapsed, 0 }

func (s *spending) total() float64 { return s.said + s.trials }

// Read reads a run file. A last line without its newline is left out and
// counted in Truncated; any other line that cannot be read is an error that
// names the line.
func Read(r io.Reader) (*File, error) {
	f := &File{Open: true}
	var spent spending
	br := bufio.NewReaderSize(r, 1<<16)
	cells := map[Cell]bool{}
	for n := 1; ; n++ {
		line, err := readLine(br)
		if errors.Is(err, io.EOF) {
			f.Truncated = int64(len(line))
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := f.add(line, n == 1, &spent); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		f.Size += int64(len(line))
		if last := len(f.Trials) - 1; last >= 0 {
			cells[f.Trials[last].Cell] = true
		}
		if most := max(len(f.Run.Cells), len(cells)); most > mostCells {
			return nil, fmt.Errorf("line %d: it has %d different cells; at most %d are possible", n, most, mostCells)
		}
	}
	if f.Size == 0 {
		return nil, errors.New("not a run file: it has no complete line")
	}
	f.Spent = spent.total()
	return f, nil
}

// readLine returns a line with its newline, or what there is and io.EOF.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes: not a run file", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (f *File) add(line []byte, first bool, spent *spending) error {
	var head struct {
		Type          string `json:"type"`
		SchemaVersion int    `json:"schema_version"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		if first {
			return errors.New("not a run file: the first line is not JSON")
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	if first != (head.Type == TypeRun) {
		if first {
			return fmt.Errorf("not a run file: it begins with type %q instead of %q", head.Type, TypeRun)
		}
		return errors.New("a second run begins here: run files cannot be joined")
	}
	switch head.Type {
	case TypeRun:
		if head.SchemaVersion < 1 || head.SchemaVersion > SchemaVersion {
			return fmt.Errorf("schema version %d; this nettoll reads 1 to %d", head.SchemaVersion, SchemaVersion)
		}
		return decode(line, &f.Run)
	case TypeTrial:
		f.Open = true
		f.Trials = append(f.Trials, Trial{})
		t := &f.Trials[len(f.Trials)-1]
		err := decode(line, t)
		spent.trial(t.Elapsed)
		return err
	case TypeResume:
		f.Open = true
		f.Resumes = append(f.Resumes, Resume{})
		spent.over(spent.trials)
		return decode(line, &f.Resumes[len(f.Resumes)-1])
	case TypeEnd:
		f.Open = false
		f.Ends = append(f.Ends, End{})
		e := &f.Ends[len(f.Ends)-1]
		err := decode(line, e)
		spent.over(e.Elapsed)
		return err
	}
	return fmt.Errorf("unknown type %q", head.Type)
}

// ReadFile reads the run file at path.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}
