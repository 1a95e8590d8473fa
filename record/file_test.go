package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// write creates a run file with a run and trials, and returns its path and content.
func write(t *testing.T, run record.Run, trials ...record.Trial) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.ndjson")
	w, err := record.Create(path, run)
	iferr.Fatal(t, err)
	for _, tr := range trials {
		iferr.Fatal(t, w.Trial(tr))
	}
	iferr.Fatal(t, w.Close())
	return path, content(t, path)
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	iferr.Fatal(t, err)
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
	want.Versions = []string{want.Run.Version, want.Resumes[0].Version}
	limits := filledRun(t).Settings
	want.Resumes[0].Settings = &limits

	// Types and version are set by the writer.
	run, first, second, resume, end := want.Run, want.Trials[0], want.Trials[1], want.Resumes[0], want.Ends[0]
	run.Type, run.SchemaVersion, first.Type, second.Type, resume.Type, end.Type = "", 0, "", "", "", ""
	path, _ := write(t, run, first)
	w, soFar, err := record.Append(path, resume)
	iferr.Fatal(t, err)
	if len(soFar.Trials) != 1 || len(soFar.Resumes) != 0 || soFar.Truncated != 0 {
		t.Errorf("before it went on the file had %d trials, %d resumes and %d bytes cut off, want 1, 0, 0",
			len(soFar.Trials), len(soFar.Resumes), soFar.Truncated)
	}
	iferr.Fatal(t, errors.Join(w.Trial(second), w.End(end), w.Close()))
	got, err := record.ReadFile(path)
	iferr.Fatal(t, err)
	want.Size = int64(len(content(t, path)))
	want.Spent = first.Elapsed + end.Elapsed // the first process did not record its time
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("what was read is not what was written (-want +got):\n%s", diff)
	}
}

func TestEachTrialIsOneLineAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.ndjson")
	w, err := record.Create(path, filledRun(t))
	iferr.Fatal(t, err)
	defer w.Close()
	for round := 1; round <= 3; round++ {
		iferr.Fatal(t, w.Trial(filledTrial(t, round)))
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

// TestVenueIsTheFirstKnown checks that neither an older version in between, nor a later process, changes where a run began.
func TestVenueIsTheFirstKnown(t *testing.T) {
	first, second := &record.Venue{Expect: "vxlan"}, &record.Venue{}
	resumed := func(venues ...*record.Venue) (all []record.Resume) {
		for _, v := range venues {
			all = append(all, record.Resume{}, record.Resume{Settings: &record.Settings{Venue: v}})
		}
		return all
	}
	for name, c := range map[string]struct {
		run     *record.Venue
		resumes []record.Resume
		want    *record.Venue
	}{
		"not known":     {nil, resumed(nil), nil},
		"of the run":    {first, resumed(nil, second), first},
		"of a resume":   {nil, resumed(nil, first, second, nil), first},
		"nothing given": {second, resumed(first), second},
		"its engines":   {first, resumed(second, &record.Venue{Engines: []string{"a"}}, &record.Venue{Engines: []string{"b"}}), &record.Venue{Expect: "vxlan", Engines: []string{"a"}}},
	} {
		f := record.File{Run: record.Run{Settings: record.Settings{Venue: c.run}}, Resumes: c.resumes}
		if got := f.Venue(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestLimitsAreTheLast has a process of an older version, which recorded no settings, resume the run at last.
func TestLimitsAreTheLast(t *testing.T) {
	f := record.File{Run: record.Run{Settings: record.Settings{MaxRounds: 1}}}
	if n := f.Limits().MaxRounds; n != 1 {
		t.Errorf("%d rounds, want those of the run", n)
	}
	f.Resumes = []record.Resume{{Settings: &record.Settings{MaxRounds: 2}}, {Settings: &record.Settings{MaxRounds: 3}}, {}}
	if n := f.Limits().MaxRounds; n != 3 {
		t.Errorf("%d rounds, want those of the last resume that has any", n)
	}
}

func TestHere(t *testing.T) {
	here, elsewhere := record.Endpoint{}, record.Endpoint{Machine: &record.Machine{}}
	for name, c := range map[string]struct {
		ends []record.Endpoint
		want bool
	}{
		"no end is known":    {nil, true},
		"this machine":       {[]record.Endpoint{here, here}, true},
		"one end is here":    {[]record.Endpoint{elsewhere, here}, true},
		"both are elsewhere": {[]record.Endpoint{elsewhere, elsewhere}, false},
	} {
		f := record.File{Trials: []record.Trial{{}, {Endpoints: c.ends}}}
		if got := f.Here(); got != c.want {
			t.Errorf("%s: here %v, want %v", name, got, c.want)
		}
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
		iferr.Fatal(t, os.WriteFile(path, whole[:cut], 0o644))
		w, _, err := record.Append(path, record.Resume{Version: "later"})
		iferr.Fatal(t, err)
		iferr.Fatal(t, errors.Join(w.Trial(trial), w.Close()))
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
	iferr.Fatal(t, os.WriteFile(path, letter, 0o644))
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

// createOnFullDisk checks that a run file is removed if it cannot be begun.
func createOnFullDisk(path string) error {
	signal.Ignore(unix.SIGXFSZ)
	if err := limitFiles(10); err != nil {
		return err
	}
	if _, err := record.Create(path, record.Run{}); !errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("create: %v, want %w", err, unix.EFBIG)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the file is there: %v", err)
	}
	return limitFiles(1 << 20)
}

// limitEnv makes the test program write a trial to the named file while
// the kernel limits the size of files, as a full disk would.
const limitEnv = "NETTOLL_TEST_LIMITED_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(limitEnv); path != "" {
		if err := errors.Join(createOnFullDisk(path+".new"), writeOnFullDisk(path), writeAfterPart(path+".part")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeOnFullDisk makes the disk full at every byte of one line, and requires
// the file to be unchanged each time. In the end there is enough space.
func writeOnFullDisk(path string) error {
	signal.Ignore(unix.SIGXFSZ)
	trial := record.Trial{Cell: small, Round: 2, Status: record.OK}
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	w, _, err := record.Append(path, record.Resume{})
	if err != nil {
		return err
	}
	defer w.Close()
	resumed, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(resumed, before) {
		return fmt.Errorf("the file does not begin as before: %v", err)
	}
	for room := uint64(0); ; room++ {
		if err := limitFiles(uint64(len(resumed)) + room); err != nil {
			return err
		}
		err := w.Trial(trial)
		now, readErr := os.ReadFile(path)
		if readErr != nil {
			return readErr
		}
		if err == nil {
			line := now[len(resumed):]
			if room < uint64(len(line)) || len(line) < 20 {
				return fmt.Errorf("with room for %d bytes a line of %d was written", room, len(line))
			}
			return nil
		}
		if !errors.Is(err, unix.EFBIG) || strings.Contains(err.Error(), "\n") {
			return fmt.Errorf("with room for %d bytes the error is %w, want one line", room, err)
		}
		if !bytes.Equal(now, resumed) {
			return fmt.Errorf("with room for %d bytes the file ends with %q", room, now[len(resumed):])
		}
	}
}

// writeAfterPart has a line that was written in part stay, as on a disk that is too full to cut it off: here the file may only be
// appended to. Nothing is written after it until it is cut off.
func writeAfterPart(path string) error {
	w, err := record.Create(path, record.Run{ID: "a"})
	if err != nil {
		return err
	}
	defer w.Close()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := onlyAppend(f, true); err != nil {
		return nil // it takes root, and a file system that has such files
	}
	defer onlyAppend(f, false)
	const part = 10
	info, err := f.Stat()
	if err == nil {
		err = limitFiles(uint64(info.Size()) + part)
	}
	if err != nil {
		return err
	}
	if err := w.Trial(record.Trial{Cell: small, Round: 1, Status: record.OK}); !errors.Is(err, unix.EFBIG) || !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a trial on a full disk: %v", err)
	}
	if err := limitFiles(1 << 20); err != nil {
		return err
	}
	if err := w.End(record.End{}); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("an end after part of a trial: %v", err)
	}
	if file, err := record.ReadFile(path); err != nil || file.Truncated != part {
		return fmt.Errorf("with part of a trial: %+v, %v", file, err)
	}
	if err := errors.Join(onlyAppend(f, false), w.End(record.End{})); err != nil {
		return err
	}
	if file, err := record.ReadFile(path); err != nil || file.Truncated != 0 || len(file.Ends) != 1 {
		return fmt.Errorf("with an end: %+v, %v", file, err)
	}
	return nil
}

// onlyAppend sets whether a file may only be appended to (chattr +a).
func onlyAppend(f *os.File, on bool) error {
	const appendOnly = 0x20 // FS_APPEND_FL
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if flags &^= appendOnly; on {
		flags |= appendOnly
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
}

func limitFiles(size uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: old.Max})
}

func TestFullDiskLeavesOnlyCompleteLines(t *testing.T) {
	path, _ := write(t, record.Run{ID: "a"}, record.Trial{Cell: small, Round: 1, Status: record.OK})
	self, err := os.Executable()
	iferr.Fatal(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), limitEnv+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := record.ReadFile(path)
	iferr.Fatal(t, err)
	if len(f.Trials) != 2 || len(f.Resumes) != 1 || f.Truncated != 0 {
		t.Errorf("%d trials, %d resumes, truncated %d; want 2, 1, 0", len(f.Trials), len(f.Resumes), f.Truncated)
	}
}
