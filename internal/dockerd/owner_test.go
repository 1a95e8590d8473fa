package dockerd_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nettoll/internal/dockerd"
)

// sleeper is a process that waits for its end.
func sleeper(t *testing.T, attr *syscall.SysProcAttr) (cmd *exec.Cmd, label string) {
	t.Helper()
	cmd = exec.Command("sleep", "1000")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	label, err := dockerd.LabelOf(strconv.Itoa(cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return cmd, label
}

func wantState(t *testing.T, what, label string, want dockerd.State) {
	t.Helper()
	if got := dockerd.ProcessState(label); got != want {
		t.Errorf("%s (%s): %s, want %s", what, label, got, want)
	}
}

func TestProcessState(t *testing.T) {
	own := dockerd.ThisProcess()
	wantState(t, "this process", own, dockerd.Going)
	same, err := dockerd.LabelOf(strconv.Itoa(os.Getpid()))
	if err != nil || same != own {
		t.Errorf("this process is %q and %q, %v", own, same, err)
	}

	cmd, label := sleeper(t, nil)
	wantState(t, "a child", label, dockerd.Going)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "nobody has asked for its end yet", func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(b), ") Z ")
	})
	wantState(t, "a dead child", label, dockerd.Ended)
	_ = cmd.Wait()
	wantState(t, "a child that was", label, dockerd.Ended)

	part := strings.Split(own, "/")
	with := func(i int, other string) string {
		changed := append([]string{}, part...)
		changed[i] = other
		return strings.Join(changed, "/")
	}
	wantState(t, "another boot", with(0, "00000000-0000-0000-0000-000000000000"), dockerd.Unknown)
	wantState(t, "the same number, but another start", with(3, "1"), dockerd.Ended)
	wantState(t, "a namespace that cannot be seen", with(1, "1"), dockerd.Unknown)
	for _, broken := range []string{"", "1/2/3", own + "/4"} {
		wantState(t, "no label of nettoll's", broken, dockerd.Unknown)
	}
}

// TestProcessStateInOtherNamespaces: a process of a namespace below is seen as long as it
// runs; that it is not seen could have other reasons.
func TestProcessStateInOtherNamespaces(t *testing.T) {
	cmd, label := sleeper(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID})
	if part := strings.Split(label, "/"); part[2] != "1" {
		t.Fatalf("its number in its own namespace is %s", part[2])
	}
	wantState(t, "a process in a namespace below", label, dockerd.Going)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wantState(t, "a process that was in a namespace below", label, dockerd.Unknown)
}
