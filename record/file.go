package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// File is a run file, read.
type File struct {
	Run     Run
	Trials  []Trial
	Resumes []Resume
	Ends    []End
	// Open says that the last complete line is not an end: a process began or went on
	// with the run, and did not end in an orderly way. Clocks do not tell, since they
	// may be set back.
	Open bool
	// Size is the length in bytes of the complete lines. Whatever follows is
	// the beginning of a line that was never finished: the process died.
	Size int64
	// Truncated is the length of that beginning.
	Truncated int64
	// Spent is how many seconds the processes worked on the run, all of them together: what
	// each said at its end, and of one that did not get to say it what its trials took.
	Spent float64
}

// Limits are the settings in force at the end of the run: those of the last process that
// went on with it, or else the run's own.
func (f *File) Limits() Settings {
	for _, r := range slices.Backward(f.Resumes) {
		if r.Settings != nil {
			return *r.Settings
		}
	}
	return f.Run.Settings
}

// line is one of a run file.
type line interface {
	// check refuses what cannot be true.
	check() error
}

// decode reads a line whose type is known.
func decode(text []byte, into line) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	return into.check()
}

func (r *Run) check() error {
	for i, c := range r.Cells {
		if err := c.check(); err != nil {
			return fmt.Errorf("cells[%d]: %w", i, err)
		}
	}
	return bounded(r)
}

func (t *Trial) check() error  { return t.Check() }
func (r *Resume) check() error { return bounded(r) }
func (e *End) check() error    { return bounded(e) }

// Check refuses a trial that cannot be true, so that nobody computes with it. The error
// names the field as the file does.
func (t *Trial) Check() error {
	switch t.Status {
	case OK, Invalid:
	case Skipped, Failed:
		if t.Reason == "" {
			return fmt.Errorf("%s trial without a reason", t.Status)
		}
	default:
		return fmt.Errorf("unknown status %q", t.Status)
	}
	if t.Round < 1 {
		return fmt.Errorf("round %d: rounds count from 1", t.Round)
	}
	if err := t.Cell.check(); err != nil {
		return err
	}
	if t.Latency != nil {
		if err := t.Latency.check(); err != nil {
			return err
		}
	}
	return bounded(t)
}

// Writer appends to a run file. Each line is on the disk when its call returns.
type Writer struct {
	f *os.File
}

// Create begins a run file. It refuses to overwrite one.
func Create(path string, run Run) (*Writer, error) {
	run.Type, run.SchemaVersion = TypeRun, SchemaVersion
	if err := run.check(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w := &Writer{f: f}
	if err := w.write(&run, "run"); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	SyncFolder(path)
	return w, nil
}

// SyncFolder makes the name of a new file last through a loss of power, where that can be:
// there are folders that may be written and not read, and file systems without a way to.
func SyncFolder(path string) {
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// Append opens a run file to go on with it, cuts off the line that was never
// finished and says what the file holds so far.
func Append(path string, resume Resume) (*Writer, *File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() { // a pipe is not there to be read again
		return nil, nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path), f.Close())
	}
	if err := lock(f); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	file, err := Read(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	if file.Truncated > 0 {
		if err := f.Truncate(file.Size); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
	}
	w := &Writer{f: f}
	resume.Type = TypeResume
	if err := w.write(&resume, "resume"); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return w, file, nil
}

// Trial appends a finished trial.
func (w *Writer) Trial(t Trial) error {
	t.Type = TypeTrial
	return w.write(&t, "trial of "+t.Cell.Key())
}

// End appends the ending.
func (w *Writer) End(e End) error {
	e.Type = TypeEnd
	return w.write(&e, "end")
}

// write appends one line and waits for the disk. What could be written only in
// part is cut off again, so that the file ends with a complete line. What Read would
// refuse is not written: one such line makes a whole file of no use.
func (w *Writer) write(l line, what string) error {
	if err := l.check(); err != nil {
		return fmt.Errorf("record: refuse %s: %w", what, err)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(l); err != nil {
		return fmt.Errorf("record: encode: %w", err)
	}
	if b.Len() > maxLine {
		return fmt.Errorf("record: a line of %d bytes, readers take %d", b.Len(), maxLine)
	}
	size, err := w.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := w.f.Write(b.Bytes()); err != nil {
		return errors.Join(err, w.f.Truncate(size))
	}
	return w.f.Sync()
}

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }
