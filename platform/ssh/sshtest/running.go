package sshtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
)

// Running returns the PIDs of the processes in the machine's network namespace, by command line and PID. Those of sshd
// itself are left out.
func (l *LAN) Running(t testing.TB, i int) map[string]int {
	t.Helper()
	here, err := os.Stat(l.Hosts[i].Facts().NetNS)
	iferr.Fatal(t, err)
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	iferr.Fatal(t, err)
	all := map[string]int{}
	for _, link := range links {
		ns, err := os.Stat(link)
		if err != nil || !os.SameFile(here, ns) {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		b, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		line := strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
		if err == nil && line != "" && !strings.HasPrefix(line, "sshd") && !strings.HasPrefix(line, "/usr/sbin/sshd") {
			all[line+" #"+filepath.Base(dir)] = pid
		}
	}
	return all
}

// Empty waits until nothing runs on a machine any more.
func (l *LAN) Empty(t testing.TB, i int) {
	t.Helper()
	const patience = 30 * time.Second
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left := l.Running(t, i)
		if len(left) == 0 {
			return
		}
		if time.Since(began) > patience {
			t.Errorf("%s still runs %v", Name(i), left)
			return
		}
	}
}

// Busy waits until programs whose command lines contain a text run on a machine, and returns their PIDs.
func (l *LAN) Busy(t testing.TB, i int, text string) (pids []int) {
	t.Helper()
	const patience = 5 * time.Minute // a virtual machine on a busy one takes a while to take a login
	for began := time.Now(); len(pids) == 0; time.Sleep(20 * time.Millisecond) {
		for line, pid := range l.Running(t, i) {
			if strings.Contains(line, text) {
				pids = append(pids, pid)
			}
		}
		if time.Since(began) > patience {
			t.Fatalf("%s never ran %q: %v", Name(i), text, l.Running(t, i))
		}
	}
	return pids
}

// Reset cuts the connections of a machine's logins, and accepts new ones.
func (l *LAN) Reset(i int) {
	in := l.logins[i]
	in.mu.Lock()
	defer in.mu.Unlock()
	for c := range in.open {
		c.Close()
	}
	clear(in.open)
}
