// Package machine has tests use the machine that they run on, or the namespaces that they have of it.
package machine

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

// Loopback brings lo up in the tests' own namespace.
func Loopback(t *testing.T) {
	t.Helper()
	iferr.Fatal(t, nl.With("", func(n *nl.NS) error { return n.Up("lo") }))
}

// FreePort finds a TCP port on which nobody listens.
func FreePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	iferr.Fatal(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Processes returns the processes with the mark among their arguments, which zero bytes separate.
func Processes(t *testing.T, mark string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	iferr.Fatal(t, err)
	for _, dir := range dirs {
		b, err := os.ReadFile(dir + "/cmdline")
		if pid, _ := strconv.Atoi(filepath.Base(dir)); err == nil && bytes.Contains(b, []byte(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Slack returns how much longer the warm-up and the window of a trial are to be than on an ordinary machine, from the
// environment: on an emulated one a flow may stall for longer than either.
func Slack(t *testing.T) time.Duration {
	const variable = "NETTOLL_TEST_SLACK"
	text := os.Getenv(variable)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		t.Fatalf("%s=%s is not a duration", variable, text)
	}
	return d
}
