package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// TestUnmount has somebody unmount the file system of a run file while the run goes on.
func TestUnmount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user cannot mount")
	}
	dir := t.TempDir()
	at := filepath.Join(dir, "medium")
	iferr.Fatal(t, os.Mkdir(at, 0o755))
	args := slices.Concat([]string{"--mount", "--propagation", "private", "sh", "-c", `mount -t tmpfs tmpfs "$0" && exec "$@"`, at, "nettoll"},
		endless[:len(endless)-1], []string{filepath.Join(at, "x.ndjson")})
	p := startProgram(t, dir, "unshare", args...)
	path := fmt.Sprintf("/proc/%d/root%s/x.ndjson", p.Process.Pid, at)
	until(t, "a trial is in the run file", func() bool { return trials(path) >= 1 })
	umount := exec.Command("nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", p.Process.Pid), "umount", at)
	umount.Env = append(os.Environ(), "LC_ALL=C")
	out, err := umount.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "busy") {
		t.Errorf("umount: %v: %s", err, out)
	}
	p.signal(t, syscall.SIGINT)
	p.ends(t, exitInterrupted)
}
