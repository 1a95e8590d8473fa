package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestNoUserNamespaces checks that an ordinary user is told what is needed. The limit is set in a user namespace of
// the test's own.
func TestNoUserNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("maps two users, which only root can")
	}
	for _, program := range []string{"setpriv", "sysctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	script := `sysctl -qw user.max_user_namespaces=0 && exec setpriv --reuid 65534 --regid 65534 --clear-groups nettoll "$@"`
	maps := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: 65534, HostID: 65534, Size: 1}}
	const want = "nettoll: lab: create namespaces: the limit on namespaces is reached; " +
		"run as root, or: sysctl -w user.max_user_namespaces=15000\n"
	for _, args := range [][]string{{"doctor"}, {"lab", "bridge", "--", "true"}, tiny} {
		cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: maps, GidMappings: maps, GidMappingsEnableSetgroups: true,
		}
		var out, text bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &text
		err := cmd.Run()
		if strings.Contains(text.String(), "sysctl:") {
			t.Skipf("no limit can be set here: %s", text.String())
		}
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitFailure {
			t.Errorf("%v: %v, want exit status 1", args, err)
		}
		if text.String() != want {
			t.Errorf("%v said %q", args, text.String())
		}
		diagnosis := args[0] == "doctor" // doctor continues without a lab
		for _, part := range []string{"machine    ", "lab        does not work: lab: create namespaces: the limit", "tools\n  ok   engine ", "networks can run here without a lab"} {
			if strings.Contains(out.String(), part) != diagnosis {
				t.Errorf("%v said %q", args, out.String())
			}
		}
	}
}
