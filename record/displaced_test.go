package record_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// TestDisplaced has another program remove, replace and change a run file while it is written: nothing more is written there, and
// everything is in another file.
func TestDisplaced(t *testing.T) {
	other := []byte("another file\n")
	for name, c := range map[string]struct {
		change func(path string) error
		lost   bool
		why    string
	}{
		"removed":  {os.Remove, false, "was removed, or moved, by another program"},
		"moved":    {func(path string) error { return os.Rename(path, path+".old") }, false, "was removed, or moved, by another program"},
		"replaced": {func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, other, 0o644)) }, false, "was replaced by another program"},
		"written to": {func(path string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, append(text, other...), 0o644))
		}, false, "was written to by another program"},
		"removed with its folder": {func(path string) error { return os.RemoveAll(filepath.Dir(path)) }, false, "was removed, or moved, by another program"},
		"emptied":                 {func(path string) error { return os.Truncate(path, 0) }, true, "was cut off by another program, and a trial that was in it is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			path := filepath.Join(t.TempDir(), "x.ndjson")
			w, err := record.Create(path, filledRun(t))
			iferr.Fatal(t, err)
			defer w.Close()
			iferr.Fatal(t, w.Trial(filledTrial(t, 1)))
			before, err := os.ReadFile(path)
			iferr.Fatal(t, errors.Join(err, c.change(path)))
			after, _ := os.ReadFile(path)
			err = w.Trial(filledTrial(t, 1))
			lost, ok := errors.AsType[*record.Displaced](err)
			if !ok || lost.Why != path+" "+c.why || (lost.Saved == "") != c.lost {
				t.Fatalf("%#v", err)
			}
			if again := w.End(record.End{Reason: record.EndFailed}); again != err {
				t.Errorf("at the end: %v", again)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, after) {
				t.Errorf("it was written on: %s", now)
			}
			if c.lost {
				return
			}
			if saved, err := os.ReadFile(lost.Saved); err != nil || !bytes.HasPrefix(saved, before) {
				t.Errorf("saved %s, %v", saved, err)
			}
			if all, err := record.ReadFile(lost.Saved); err != nil || len(all.Trials) != 2 || len(all.Ends) != 1 {
				t.Errorf("saved %+v, %v", all, err)
			}
		})
	}
}

// TestUnsynced writes to a device, of which no system says that anything is on a disk: the line is not taken for one that is missing.
func TestUnsynced(t *testing.T) {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	iferr.Fatal(t, err)
	defer f.Close()
	const want = "/dev/null: written, but perhaps not on the disk: "
	if err := record.WriterOf(f).Trial(filledTrial(t, 1)); !errors.Is(err, record.ErrUnsynced) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s…", err, want)
	}
}
