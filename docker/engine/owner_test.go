package engine_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
)

// sleeper starts a process that waits until it is killed.
func sleeper(t *testing.T, attr *syscall.SysProcAttr) (cmd *exec.Cmd, label string) {
	t.Helper()
	cmd = exec.Command("sleep", "1000")
	cmd.SysProcAttr = attr
	iferr.Fatal(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	label, err := engine.LabelOf(strconv.Itoa(cmd.Process.Pid))
	iferr.Fatal(t, err)
	return cmd, label
}

func wantState(t *testing.T, what, label string, want engine.State) {
	t.Helper()
	if got := engine.ProcessState(label); got != want {
		t.Errorf("%s (%s): %s, want %s", what, label, got, want)
	}
}

func TestProcessState(t *testing.T) {
	own := engine.ThisProcess()
	wantState(t, "this process", own, engine.Going)
	same, err := engine.LabelOf(strconv.Itoa(os.Getpid()))
	if err != nil || same != own {
		t.Errorf("this process is %q and %q, %v", own, same, err)
	}

	cmd, label := sleeper(t, nil)
	wantState(t, "a child", label, engine.Going)
	iferr.Fatal(t, cmd.Process.Kill())
	dockertest.Until(t, "its parent has not waited for it yet", func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(b), ") Z ")
	})
	wantState(t, "a dead child", label, engine.Ended)
	_ = cmd.Wait()
	wantState(t, "a child that was", label, engine.Ended)

	part := strings.Split(own, "/")
	with := func(i int, other string) string {
		changed := append([]string{}, part...)
		changed[i] = other
		return strings.Join(changed, "/")
	}
	wantState(t, "another boot", with(0, "00000000-0000-0000-0000-000000000000"), engine.Unknown)
	wantState(t, "the same number, but another start", with(3, "1"), engine.Ended)
	wantState(t, "a namespace that cannot be seen", with(1, "1"), engine.Unknown)
	for _, broken := range []string{"", "1/2/3", own + "/4"} {
		wantState(t, "no label of nettoll's", broken, engine.Unknown)
	}
}

// TestProcessStateInOtherNamespaces checks that a process of a nested namespace is seen as long as it runs,
// and that nothing is concluded if it is not seen.
func TestProcessStateInOtherNamespaces(t *testing.T) {
	cmd, label := sleeper(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
	if part := strings.Split(label, "/"); part[2] != "1" {
		t.Fatalf("its number in its own namespace is %s", part[2])
	}
	wantState(t, "a process in a namespace below", label, engine.Going)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wantState(t, "a process that was in a namespace below", label, engine.Unknown)
}
