package kube_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/kube"
)

// TestPauseStays runs the program that holds a pod's namespaces: it waits until it is killed, and uses no CPU
// time.
func TestPauseStays(t *testing.T) {
	program, err := kube.PauseProgram()
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "pause")
	iferr.Fatal(t, os.WriteFile(path, program, 0o755))
	cmd := exec.Command(path)
	iferr.Fatal(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	iferr.Fatal(t, cmd.Process.Signal(unix.SIGKILL))
	<-ended
	if used := cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime(); used > 50*time.Millisecond {
		t.Errorf("it used %v of CPU time", used)
	}
}
