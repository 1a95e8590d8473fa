package dial

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform/platformtest"
)

// sshProgram skips the test if there is no ssh.
func sshProgram(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		platformtest.Require(t, "ssh", err)
	}
}

// running returns the PIDs of the programs of that name in the lab.
func running(t *testing.T, name string) (pids []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	iferr.Fatal(t, err)
	for _, n := range names {
		if b, err := os.ReadFile(n); err == nil && strings.TrimSpace(string(b)) == name {
			pids = append(pids, n)
		}
	}
	return pids
}

// gone waits until no program of that name runs.
func gone(t *testing.T, name string) {
	t.Helper()
	for range 6000 { // a minute
		if len(running(t, name)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s still runs: %v", name, running(t, name))
}

func TestSSHRefused(t *testing.T) {
	sshProgram(t)
	clean(t)
	machine.Loopback(t)
	host, port, err := net.SplitHostPort(freePort(t))
	iferr.Fatal(t, err)
	target, err := Resolve("ssh://me@" + host + ":" + port)
	iferr.Fatal(t, err)
	_, err = Connect(t.Context(), target)
	unreachable(t, err, "ssh says: ssh: connect to host 127.0.0.1 port "+port+": Connection refused",
		"try: ssh -l me -p "+port+" -o BatchMode=yes -- 127.0.0.1 docker version")
	gone(t, "ssh")
}

// TestSSHSilent has ssh wait for a machine that accepts connections and sends nothing.
func TestSSHSilent(t *testing.T) {
	sshProgram(t)
	clean(t)
	machine.Loopback(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	iferr.Fatal(t, err)
	defer l.Close()
	waiting := make(chan net.Conn, 3) // Go would close connections that nobody refers to
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			waiting <- conn
		}
	}()
	for _, limit := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 6 * time.Second} { // ssh itself gives up after 8 s
		_, err = connect(t.Context(), Target{Host: "ssh://me@" + l.Addr().String(), Source: flag}, limit)
		unreachable(t, err, "no answer within "+limit.String(), "try: ssh -l me")
		gone(t, "ssh")
		if len(waiting) > 0 {
			return
		}
	}
	t.Error("ssh was never there in time: nothing was tested")
}

// TestSSHSays replaces ssh by a program that fails like the remote side, which cannot be provoked without a
// machine to log in to.
func TestSSHSays(t *testing.T) {
	clean(t)
	for script, reason := range map[string]string{
		"echo Warning >&2; echo 'docker: command not found' >&2; exit 127": "ssh says: docker: command not found",
		"printf 'Permission denied (publickey).\\r\\n' >&2; exit 255":      "ssh says: Permission denied (publickey).",
		"echo 'Host key verification failed.' >&2; exit 255":               "ssh says: Host key verification failed.",
		"exit 3": "ssh ended without a message: exit status 3",
		"exec <&-; sleep 0.2; echo late >&2; exit 1": "ssh says: late",
		"exit 0":                          "it ends the connection without an answer",
		"echo hello; exec cat >/dev/null": "does not speak HTTP",
		"kill -9 $$":                      "ssh ended without a message: signal: killed",
		"sleep 3600 >/dev/null & exit 4":  "ssh ended without a message: exit status 4", // keeps stderr open
	} {
		dir := t.TempDir()
		write(t, dir, "ssh", "#!/bin/sh\necho >>"+dir+"/times\n"+script+"\n", 0o700)
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		_, err := connect(t.Context(), Target{Host: "ssh://me@host", Source: flag}, time.Minute)
		remedy := ""
		if strings.Contains(reason, "Host key") {
			remedy = "log in once, and check its host key: ssh -l me -- host docker version"
		}
		unreachable(t, err, reason, remedy)
		times, err := os.ReadFile(dir + "/times")
		if err != nil || strings.HasPrefix(reason, "ssh says") && len(times) != 1 {
			t.Errorf("%s: %d logins, %v", script, len(times), err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Connect(t.Context(), Target{Host: "ssh://me@host"})
	unreachable(t, err, "ssh is not installed here", "apt install openssh-client")
}

func TestSSHArguments(t *testing.T) {
	for host, want := range map[string][]string{
		"ssh://host":                      {"--", "host", "docker system dial-stdio"},
		"ssh://me@host:22":                {"-l", "me", "-p", "22", "--", "host", "docker system dial-stdio"},
		"ssh://me@host/run/user/1/d.sock": {"-l", "me", "--", "host", "docker '--host=unix:///run/user/1/d.sock' system dial-stdio"},
		"ssh://host/a b;reboot":           {"--", "host", "docker '--host=unix:///a b;reboot' system dial-stdio"},
	} {
		got, err := sshArgs(host)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		at := slices.Index(got, "--")
		got = slices.Concat(got[:at-len(sshOptions)], got[at:])
		if !slices.Equal(got, want) {
			t.Errorf("%s: ssh %q, want %q", host, got, want)
		}
	}
	if args, err := sshArgs("ssh://-oProxyCommand=reboot/"); err == nil && slices.Index(args, "--") > slices.IndexFunc(args, func(a string) bool { return strings.Contains(a, "reboot") }) {
		t.Errorf("a host can be an option of ssh: %q", args)
	}
}
