package workloadtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/record"
	"nettoll/workload"
)

// broken tests clients that misbehave and servers that cannot run, each on a network of its own.
func broken(t *testing.T, of program.Tool, server string) {
	tool, client := of.At(nil), of.Names()[0]
	drive := tool.Drives[0]
	on := func(what string, f func(t *testing.T, n *standing)) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f(t, connect(t, network.Topology{Hosts: 1, Servers: 1, Clients: 1}))
		})
	}
	// again measures with the same agents, which must still work as before.
	again := func(t *testing.T, n *standing) { trialOn(t, tool, n, drive, network.IPv4, record.Options{}, 0) }
	for _, c := range []struct {
		name, body string
		limit      time.Duration // of the trial; 0 is none
		want       string
	}{
		{"garbage", `echo 'lorem ipsum 42'; exit 0`, 0, ""},
		{"silent", `exit 0`, 0, ""},
		{"nan", `REAL "$@" | sed -E 's/[0-9]+([.][0-9]+)?/nan/g'; exit 0`, 0, ""},
		{"zero", `REAL "$@" | sed -E 's/[0-9]/0/g'; exit 0`, 0, ""},
		{"fails", `echo 'out of coffee' >&2; exit 1`, 0, "out of coffee"},
		{"hangs", `sleep 1000 & wait`, second, context.DeadlineExceeded.Error()},
	} {
		on(c.name, func(t *testing.T, n *standing) {
			fake := of.At(program.Paths{client: script(t, client, server, n.serverAddr(t), c.body)})
			err := fails(t, fake, n, drive.Workload, c.limit, nil)
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\ndoes not say %s", err, c.want)
			}
			if c.name == "hangs" {
				again(t, n)
			}
		})
	}
	on("cancelled", func(t *testing.T, n *standing) {
		ctx, cancel := context.WithCancel(t.Context())
		job, w := n.job(t, drive.Workload, network.IPv4)
		job.Duration, w.then = time.Hour, cancel
		if _, err := tool.Run(ctx, job); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		w.check(t, 0)
		n.nothingLeft(t)
		again(t, n)
	})
	on("client killed", func(t *testing.T, n *standing) {
		err := fails(t, tool, n, drive.Workload, 0, func() { n.kill(t, server, true) })
		if err != nil && !strings.Contains(err.Error(), "kill") {
			t.Errorf("error %v\ndoes not say that it was killed", err)
		}
		again(t, n)
	})
	on("server killed", func(t *testing.T, n *standing) {
		fails(t, tool, n, drive.Workload, 3*second, func() { n.kill(t, server, false) })
		again(t, n)
	})
	on("port in use", func(t *testing.T, n *standing) {
		job, _ := n.job(t, drive.Workload, network.IPv4)
		occupy(t, job.Pairs[0])
		err := fails(t, tool, n, drive.Workload, 0, nil)
		if err != nil && !strings.Contains(err.Error(), "in use") {
			t.Errorf("error %v\ndoes not say that a port is in use", err)
		}
	})
}

// fails runs a trial that must fail and leave nothing behind, and meanwhile at the same time. A limit
// that is not 0 ends the trial that long after meanwhile has returned. A trial that an end was late for, as happens on a
// busy machine, is no failure that meanwhile caused, and runs again.
func fails(t *testing.T, tool workload.Tool, n *standing, name string, limit time.Duration, meanwhile func()) error {
	t.Helper()
	job, w := n.job(t, name, network.IPv4)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	did := make(chan struct{})
	go func() {
		defer close(did)
		if meanwhile != nil {
			meanwhile()
		}
		if limit > 0 {
			time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
		}
	}()
	if meanwhile != nil {
		job.Duration *= 10 // longer than a busy machine takes until then
	}
	r, err := tool.Run(ctx, job)
	for errors.Is(err, workload.ErrLate) && waits(did) {
		t.Logf("runs again: %v", err)
		*w = watched{} // that trial may have had its window
		r, err = tool.Run(ctx, job)
	}
	<-did
	if err == nil {
		t.Errorf("no error, but %+v", r)
	}
	w.check(t, 0)
	n.nothingLeft(t)
	return err
}

// waits reports whether something is not done yet.
func waits(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// script writes a program that does what body says when it is started as a client, and otherwise
// becomes the real program. A client has the server's address among its arguments or in its
// environment.
func script(t *testing.T, name, server, addr, body string) string {
	t.Helper()
	real, err := exec.LookPath(name)
	iferr.Fatal(t, err)
	text := "#!/bin/sh\n"
	if server != "" {
		text += fmt.Sprintf("case \"$*\" in *'%s'*) exec %s \"$@\" ;; esac\n", server, real)
	}
	text += fmt.Sprintf("case \"$* $(env)\" in\n*'%s'*)\n%s\n;;\nesac\nexec %s \"$@\"\n",
		addr, strings.ReplaceAll(body, "REAL", real), real)
	path := filepath.Join(t.TempDir(), name)
	syscall.ForkLock.RLock() // a process that is started meanwhile would have the file open, and nobody could run it
	err = os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	iferr.Fatal(t, err)
	return path
}

// occupy listens on all ports of a pair.
func occupy(t *testing.T, p workload.Pair) {
	t.Helper()
	err := netns.Do(p.Server.(*manned).Endpoint.Facts().NetNS, func() error {
		for _, port := range []int{p.Port, p.Own[0], p.Own[1]} {
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
			if err != nil {
				return err
			}
			t.Cleanup(func() { l.Close() })
			u, err := net.ListenPacket("udp", fmt.Sprintf(":%d", port))
			if err != nil {
				return err
			}
			t.Cleanup(func() { u.Close() })
		}
		return nil
	})
	iferr.Fatal(t, err)
}
