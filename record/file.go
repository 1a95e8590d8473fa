package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// File is the content of a run file.
type File struct {
	// Name is the name by which reports refer to it. Readers leave it empty.
	Name string

	Run     Run
	Trials  []Trial
	Resumes []Resume
	Ends    []End
	// Versions are those of nettoll by which trials were measured, each once.
	Versions []string
	// Open means that the last complete line is not an end: a process began or resumed the run, and
	// did not end in an orderly way. Timestamps cannot show this, since clocks may be set back.
	Open bool
	// Size is the length in bytes of the complete lines. Anything after them
	// is the beginning of a line that was never finished: the process died.
	Size int64
	// Truncated is the length in bytes of that beginning.
	Truncated int64
	// Spent is the number of seconds that all processes together worked on the run: the time
	// that each recorded at its end, and for a process without an end the time of its trials.
	Spent float64
}

// Here reports whether the machine that nettoll ran on was measured, rather than others alone. A run of which no end is known is taken
// to be one of that machine.
func (f *File) Here() bool {
	others := false
	for _, t := range f.Trials {
		for _, e := range t.Endpoints {
			if e.Machine == nil {
				return true
			}
			others = true
		}
	}
	return !others
}

// Limits returns the settings in force at the end of the run: those of
// the last process that resumed it, or else the run's own.
func (f *File) Limits() Settings {
	for _, r := range slices.Backward(f.Resumes) {
		if r.Settings != nil {
			return *r.Settings
		}
	}
	return f.Run.Settings
}

// Venue returns the venue of the run, as far as it is known: that of the first process that recorded it, or its engines, since a
// process of an older version may have resumed the run in between. It is nil if none did.
func (f *File) Venue() *Venue {
	all := []*Venue{f.Run.Settings.Venue}
	for _, r := range f.Resumes {
		if r.Settings != nil {
			all = append(all, r.Settings.Venue)
		}
	}
	all = Those(all, func(v *Venue) bool { return v != nil })
	if len(all) == 0 {
		return nil
	}
	venue := *all[0]
	if with, ok := First(all, func(v *Venue) bool { return len(v.Engines) > 0 }); ok {
		venue.Engines = with.Engines
	}
	return &venue
}

// line is a line of a run file.
type line interface {
	// check rejects values that cannot be true.
	check() error
}

// decode reads a line of known type.
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

// Check rejects a trial that cannot be true, so that nothing is computed
// from it. The error names the field as in the file.
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
	return cmp.Or(t.Cell.check(), t.Latency.check(), bounded(t))
}

// Writer appends to a run file. Each line is on the disk when its call returns.
type Writer struct {
	f      *os.File
	size   int64      // what was written, in bytes
	trials int        // that are in it
	torn   bool       // after that is a part of a line, which could not be cut off yet
	lost   *Displaced // why it writes to another file, or no more
}

// ErrUnsynced is the error of a line that is written, of which the system does not say that it is on the disk.
var ErrUnsynced = errors.New("written, but perhaps not on the disk")

// Displaced is the error of a Writer whose file another program has removed, replaced or changed. Calls return it from then on,
// also when they have written their line to the new file.
type Displaced struct {
	Why   string
	Saved string // the new file that holds everything; "" if there is none
}

func (d *Displaced) Error() string {
	if d.Saved == "" {
		return d.Why
	}
	return d.Why + "; what was measured is in " + d.Saved
}

// Create begins a run file. It refuses to overwrite an existing file.
func Create(path string, run Run) (*Writer, error) {
	run.Type, run.SchemaVersion = TypeRun, SchemaVersion
	if err := run.check(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
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

// SyncFolder makes the name of a new file survive a loss of power, if possible:
// some folders may be written but not read, and some file systems cannot sync them.
func SyncFolder(path string) {
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// Append opens a run file to resume it, cuts off a line that was never
// finished and returns what the file holds so far.
func Append(path string, resume Resume) (w *Writer, file *File, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			w, file, err = nil, nil, errors.Join(err, f.Close())
		}
	}()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() { // a pipe cannot be read again
		return nil, nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	if err := lock(f); err != nil {
		return nil, nil, err
	}
	if file, err = Read(f); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Truncated > 0 {
		if err := f.Truncate(file.Size); err != nil {
			return nil, nil, err
		}
	}
	w, resume.Type = &Writer{f: f, size: file.Size, trials: len(file.Trials)}, TypeResume
	return w, file, w.write(&resume, "resume")
}

// Trial appends a finished trial.
func (w *Writer) Trial(t Trial) error {
	t.Type = TypeTrial
	was := w.size
	err := w.write(&t, "trial of "+t.Cell.Key())
	if w.size > was {
		w.trials++
	}
	return err
}

// End appends the ending.
func (w *Writer) End(e End) error {
	e.Type = TypeEnd
	return w.write(&e, "end")
}

// write appends one line and waits for the disk. A line that could be written only
// in part is cut off again, so that the file ends with a complete line. A line that
// Read would reject is not written: a single one makes the whole file unreadable.
func (w *Writer) write(l line, what string) error {
	if err := l.check(); err != nil {
		return fmt.Errorf("record: refuse %s: %w", what, err)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(l); err != nil {
		return fmt.Errorf("record: encode: %w", err)
	}
	if b.Len() > maxLine {
		return fmt.Errorf("record: a line of %d bytes; readers accept at most %d", b.Len(), maxLine)
	}
	if err := w.mend(); err != nil {
		return err
	}
	if err := w.intact(); err != nil {
		return err
	}
	if w.lost != nil && w.lost.Saved == "" {
		return w.lost
	}
	if _, err := w.f.Write(b.Bytes()); err != nil {
		w.torn = true
		return errors.Join(err, w.mend())
	}
	w.size += int64(b.Len())
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("%s: %w: %w", w.f.Name(), ErrUnsynced, err)
	}
	if w.lost != nil {
		return w.lost
	}
	return nil
}

// intact looks whether another program has removed, replaced or changed the file, and goes on in another one then.
func (w *Writer) intact() error {
	if w.lost != nil {
		return nil
	}
	is, err := w.f.Stat()
	if err != nil {
		return err
	}
	name := w.f.Name()
	named, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		w.save(is, name+" was removed, or moved, by another program")
	case err == nil && !os.SameFile(is, named):
		w.save(is, name+" was replaced by another program")
	case is.Size() < w.size:
		w.lost = &Displaced{Why: name + " was cut off by another program"}
		left := &File{}
		if file, err := Read(io.NewSectionReader(w.f, 0, is.Size())); err == nil {
			left = file
		}
		switch gone := w.trials - len(left.Trials); {
		case gone == 1:
			w.lost.Why += ", and a trial that was in it is lost"
		case gone > 1:
			w.lost.Why += fmt.Sprintf(", and %d trials that were in it are lost", gone)
		}
	case is.Size() > w.size:
		w.save(is, name+" was written to by another program")
	}
	return nil
}

// save copies what has been written to a new file beside the one that it was in, or else in the current folder or the one for
// temporary files, and goes on there.
func (w *Writer) save(is os.FileInfo, why string) {
	w.lost = &Displaced{Why: why}
	for _, dir := range []string{filepath.Dir(w.f.Name()), ".", os.TempDir()} {
		if f, err := w.copyTo(dir, is.Mode().Perm()); err == nil {
			_ = w.f.Close() // everything in it is on the disk
			w.f, w.lost.Saved = f, filepath.Clean(f.Name())
			return
		}
	}
}

func (w *Writer) copyTo(dir string, mode os.FileMode) (f *os.File, err error) {
	made, err := os.CreateTemp(dir, "saved-*-"+filepath.Base(w.f.Name()))
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(made, io.NewSectionReader(w.f, 0, w.size))
	if err = errors.Join(err, made.Chmod(mode), made.Sync(), made.Close()); err == nil {
		f, err = os.OpenFile(made.Name(), os.O_RDWR|os.O_APPEND, 0)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(made.Name()))
	}
	SyncFolder(f.Name())
	_ = lock(f) // nobody else knows its name
	return f, nil
}

// mend cuts off a line that was written in part. A disk may be too full even for that: another line after it would make the
// whole file unreadable.
func (w *Writer) mend() error {
	if !w.torn {
		return nil
	}
	err := w.f.Truncate(w.size)
	w.torn = err != nil
	return err
}

// Read returns what has been written, wherever it is now.
func (w *Writer) Read() (*File, error) { return Read(io.NewSectionReader(w.f, 0, w.size)) }

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

// lockWait is how long a killed process may take to release its file.
const lockWait = 2 * time.Second

// lock locks a run file for one writer, until it is closed. If the file
// system has no locks, the file stays unlocked.
func lock(f *os.File) error {
	for deadline := time.Now().Add(lockWait); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: another process is writing this run file", f.Name())
		}
	}
}
