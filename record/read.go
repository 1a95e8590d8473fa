package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// maxLine bounds one line of a run file, so that a file that is not one
// cannot fill the memory.
const maxLine = 16 << 20

// trialPrefix is how lines of trials begin that a Writer wrote.
var trialPrefix = []byte(`{"type":"trial",`)

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
func Read(r io.Reader) (*File, error) { return read(r, wholeTrial, func(*Trial) {}) }

// read is Read by somebody who keeps of a trial what brief leaves of it. The function decode gives trials that
// are, several at once, where all is well with the line; all other lines are decoded here.
func read(r io.Reader, decode func(line []byte) *Trial, brief func(*Trial)) (*File, error) {
	f := &File{Open: true}
	var spent spending
	var c, next chunk
	cells := map[Cell]bool{}
	br := bufio.NewReaderSize(r, 1<<16)
	var reading sync.WaitGroup
	defer reading.Wait()
	next.fill(br)
	for n := 0; ; {
		reading.Wait()
		c, next = next, c
		if c.ended == nil {
			reading.Go(func() { next.fill(br) })
		}
		c.decode(decode)
		for i, t := range c.trials {
			n++
			var err error
			if t != nil && n > 1 {
				f.addTrial(t, &spent)
			} else {
				err = f.add(c.line(i), n == 1, &spent, brief)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			f.Size += int64(len(c.line(i)))
			if last := len(f.Trials) - 1; last >= 0 {
				cells[f.Trials[last].Cell] = true
			}
			if most := max(len(f.Run.Cells), len(cells)); most > mostCells {
				return nil, fmt.Errorf("line %d: it has %d different cells; at most %d are possible", n, most, mostCells)
			}
		}
		if errors.Is(c.ended, io.EOF) {
			f.Truncated = int64(len(c.rest()))
			break
		}
		if c.ended != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, c.ended)
		}
	}
	if f.Size == 0 {
		return nil, errors.New("not a run file: it has no complete line")
	}
	f.Spent = spent.total()
	return f, nil
}

// wholeTrial decodes a line, where it is a trial and all is well.
func wholeTrial(line []byte) *Trial {
	if !bytes.HasPrefix(line, trialPrefix) {
		return nil
	}
	l := struct {
		*Trial
		SchemaVersion int `json:"schema_version"`
	}{Trial: &Trial{}}
	if json.Unmarshal(line, &l) != nil || l.Type != TypeTrial || l.Check() != nil {
		return nil
	}
	return l.Trial
}

func (f *File) addTrial(t *Trial, spent *spending) {
	f.Open = true
	f.Trials = append(f.Trials, *t)
	spent.trial(t.Elapsed)
}

// add is of any line, and says what is wrong with it.
func (f *File) add(line []byte, first bool, spent *spending, brief func(*Trial)) error {
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
		var t Trial
		if err := decode(line, &t); err != nil {
			return err
		}
		brief(&t)
		f.addTrial(&t, spent)
		return nil
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
func ReadFile(path string) (*File, error) { return readFile(path, Read) }

// ReadFigures reads the run file at path for reports of it: trials have no Counters and no Slices, which are
// checked all the same, and share what is equal among them, so that nobody may change it. Each is handed to finish,
// where there is one, by several goroutines at once. A file of thousands of trials takes half the time then and a
// fraction of the memory.
func ReadFigures(path string, finish func(*Trial)) (*File, error) {
	return readFile(path, func(r io.Reader) (*File, error) {
		f := figures{finish: finish}
		return read(r, f.trial, f.brief)
	})
}

func readFile(path string, read func(io.Reader) (*File, error)) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}
