package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serversOf are the processes of a server's program in the engine's namespaces, with what it
// calls itself.
func (e *theirEngine) serversOf(name string) (found []string) {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root/proc/[0-9]*", e.init))
	for _, dir := range dirs {
		comm, err := os.ReadFile(dir + "/comm")
		if err == nil && strings.TrimSpace(string(comm)) == name {
			line, _ := os.ReadFile(dir + "/cmdline")
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// TestServersEndWithNettoll kills nettoll while servers that fork serve on a machine of the
// user's, outside of containers and in them. None is left.
func TestServersEndWithNettoll(t *testing.T) {
	e := startTheirs(t)
	for _, c := range []struct{ network, tool, workload, server string }{
		{"docker:native", "wrk", "http", "nginx"},
		{"docker:native", "pgbench", "postgres", "postgres"},
		{"docker:host", "wrk", "http", "nginx"},
	} {
		t.Run(c.network+" "+c.server, func(t *testing.T) {
			was := before(t)
			p := e.inside(t, t.TempDir(), "nettoll", "run", c.network, "--baseline", c.network, "--tool", c.tool, "--workloads", c.workload,
				"--placement", "free", "-t", "60s", "--min-rounds", "1", "--max-rounds", "1", "-o", "x.ndjson")
			until(t, "the server has children", func() bool {
				if p.ended() {
					t.Fatal(p.said())
				}
				return len(e.serversOf(c.server)) > 1
			})
			for pid, args := range ours(t) {
				if strings.HasPrefix(args, "nettoll run ") {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			p.status(t)
			deadline := time.Now().Add(patience)
			for left := e.serversOf(c.server); len(left) > 0; left = e.serversOf(c.server) {
				if time.Now().After(deadline) {
					t.Fatalf("left are %q", left)
				}
				time.Sleep(5 * time.Millisecond)
			}
			was.check(t, nil)
		})
	}
}
