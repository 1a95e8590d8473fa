package record_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

// write makes a run file of a run and trials, and returns its path and what is in it.
func write(t *testing.T, run record.Run, trials ...record.Trial) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.ndjson")
	w, err := record.Create(path, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		if err := w.Trial(tr); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path, content(t, path)
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryFieldSurvivesTheFile(t *testing.T) {
	want := record.File{
		Run:     filledRun(t),
		Trials:  []record.Trial{filledTrial(t, 1), filledTrial(t, 2)},
		Resumes: []record.Resume{filled[record.Resume](t, 3)},
		Ends:    []record.End{filled[record.End](t, 4)},
	}
	want.Resumes[0].Type, want.Ends[0].Type = record.TypeResume, record.TypeEnd
	limits := filledRun(t).Settings
	want.Resumes[0].Settings = &limits

	// Types and version are the writer's business.
	run, first, second, resume, end := want.Run, want.Trials[0], want.Trials[1], want.Resumes[0], want.Ends[0]
	run.Type, run.SchemaVersion, first.Type, second.Type, resume.Type, end.Type = "", 0, "", "", "", ""
	path, _ := write(t, run, first)
	w, soFar, err := record.Append(path, resume)
	if err != nil {
		t.Fatal(err)
	}
	if len(soFar.Trials) != 1 || len(soFar.Resumes) != 0 || soFar.Truncated != 0 {
		t.Errorf("before it went on the file had %d trials, %d resumes and %d bytes cut off, want 1, 0, 0",
			len(soFar.Trials), len(soFar.Resumes), soFar.Truncated)
	}
	if err := errors.Join(w.Trial(second), w.End(end), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := record.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want.Size = int64(len(content(t, path)))
	want.Spent = first.Elapsed + end.Elapsed // the first process did not get to say how long it took
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("what was read is not what was written (-want +got):\n%s", diff)
	}
}

func TestEachTrialIsOneLineAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.ndjson")
	w, err := record.Create(path, filledRun(t))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for round := 1; round <= 3; round++ {
		if err := w.Trial(filledTrial(t, round)); err != nil {
			t.Fatal(err)
		}
		b := content(t, path)
		if lines := bytes.Count(b, []byte("\n")); lines != round+1 || b[len(b)-1] != '\n' {
			t.Errorf("after %d trials the file has %d lines and ends with %q", round, lines, b[len(b)-1])
		}
	}
}

func TestCreateRefusesToOverwrite(t *testing.T) {
	path, before := write(t, filledRun(t), filledTrial(t, 1))
	if _, err := record.Create(path, filledRun(t)); !errors.Is(err, os.ErrExist) {
		t.Errorf("error is %v, want %v", err, os.ErrExist)
	}
	if !bytes.Equal(content(t, path), before) {
		t.Error("the file that was there has changed")
	}
}

// TestFileIsReadableWhereverItWasCut cuts the last line at every byte, as a
// process that dies while it writes would.
func TestFileIsReadableWhereverItWasCut(t *testing.T) {
	trial := record.Trial{Cell: small, Round: 1, Status: record.OK}
	path, whole := write(t, record.Run{ID: "a"}, trial, trial, trial)
	complete := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := complete; cut < len(whole); cut++ {
		f, err := record.Read(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut after %d bytes of its last line: %v", cut-complete, err)
		}
		if len(f.Trials) != 2 || f.Size != int64(complete) || f.Truncated != int64(cut-complete) {
			t.Fatalf("cut after %d bytes of its last line: %d trials, size %d, truncated %d; want 2, %d, %d",
				cut-complete, len(f.Trials), f.Size, f.Truncated, complete, cut-complete)
		}
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		w, _, err := record.Append(path, record.Resume{Version: "later"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Trial(trial), w.Close()); err != nil {
			t.Fatal(err)
		}
		f, err = record.ReadFile(path)
		if err != nil {
			t.Fatalf("cut after %d bytes of its last line and gone on with: %v", cut-complete, err)
		}
		if len(f.Trials) != 3 || len(f.Resumes) != 1 || f.Truncated != 0 {
			t.Fatalf("gone on with: %d trials, %d resumes, truncated %d; want 3, 1, 0", len(f.Trials), len(f.Resumes), f.Truncated)
		}
	}
}

func TestAppendRefusesWhatIsNoRunFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter.txt")
	letter := []byte("dear reader,\nno newline at the end")
	if err := os.WriteFile(path, letter, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := record.Append(path, record.Resume{}); err == nil {
		t.Error("no error")
	}
	if got := content(t, path); !bytes.Equal(got, letter) {
		t.Errorf("the file has become %q", got)
	}
	if _, _, err := record.Append(filepath.Join(t.TempDir(), "none"), record.Resume{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v, want %v", err, os.ErrNotExist)
	}
}
