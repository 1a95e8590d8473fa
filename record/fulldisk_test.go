package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

// createOnFullDisk wants a run file that cannot be begun not to be there.
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

// limitEnv makes the test program write a trial to the named file while the
// kernel lets no file of it become longer than a limit, as a full disk would.
const limitEnv = "NETTOLL_TEST_LIMITED_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(limitEnv); path != "" {
		if err := errors.Join(createOnFullDisk(path+".new"), writeOnFullDisk(path)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeOnFullDisk lets the disk be full at every byte of one line, and wants the
// file to be as it was each time. At last there is room.
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
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), limitEnv+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := record.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Trials) != 2 || len(f.Resumes) != 1 || f.Truncated != 0 {
		t.Errorf("%d trials, %d resumes, truncated %d; want 2, 1, 0", len(f.Trials), len(f.Resumes), f.Truncated)
	}
}
