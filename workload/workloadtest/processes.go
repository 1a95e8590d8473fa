package workloadtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// within bounds how long something that must happen may take.
const within = time.Minute

// running returns the processes in the network's namespaces that are not agents, by number, with
// their arguments and environment. Those that have ended and have not been reaped are left out.
func (n *standing) running(t *testing.T) map[int]string {
	all := map[int]string{}
	paths, err := filepath.Glob("/proc/[0-9]*")
	iferr.Error(t, err)
	for _, p := range paths {
		if in, err := inode(p + "/ns/net"); err != nil || !slices.Contains(n.namespaces, in) {
			continue
		}
		args, err := os.ReadFile(p + "/cmdline")
		if err != nil || len(args) == 0 || strings.HasSuffix(string(args), "\x00agent\x00") {
			continue
		}
		env, _ := os.ReadFile(p + "/environ") // the arguments are enough if it has ended
		pid, _ := strconv.Atoi(filepath.Base(p))
		all[pid] = strings.ReplaceAll(string(args)+"\n"+string(env), "\x00", " ")
	}
	return all
}

// inode returns the inode number that identifies a namespace.
func inode(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return st.Ino, err
}

// nothingLeft checks that no process is left in the network. A killed one takes a moment to end.
func (n *standing) nothingLeft(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		left := ""
		for _, what := range n.running(t) {
			left, _, _ = strings.Cut(what, "\n")
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("still running: %s", left)
			return
		}
	}
}

// kill kills clients, which are recognized by the address, or servers, once clients exist and have
// had time to begin.
func (n *standing) kill(t *testing.T, server string, clients bool) {
	addr := n.serverAddr(t)
	const begin = second / 2
	var seen time.Time
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var found []int
		for pid, what := range n.running(t) {
			isClient := strings.Contains(what, addr) && (server == "" || !strings.Contains(what, server))
			if isClient && seen.IsZero() {
				seen = time.Now()
			}
			if isClient == clients {
				found = append(found, pid)
			}
		}
		if seen.IsZero() || time.Since(seen) < begin || len(found) == 0 { // there is none between two runs of a client's program
			continue
		}
		killed := false
		for _, pid := range found {
			if ended(pid) { // with the previous one, or by itself: the list is older than a short run of a program may be
				continue
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Logf("kill %d: %v", pid, err)
				continue
			}
			killed = true
		}
		if killed {
			return
		}
	}
	t.Error("nobody to kill")
}

// ended reports whether a process has ended, reaped or not.
func ended(pid int) bool {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err != nil || len(args) == 0
}
