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
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/technique"
	"nettoll/workload"
)

// broken has clients that do not do as they should, and servers that cannot.
func broken(t *testing.T, build func(program.Paths) workload.Tool, client, server string, n *network) {
	tool := build(nil)
	name := tool.Drives()[0].Workload
	job, _ := n.job(t, name, technique.IPv4)
	addr := job.Pairs[0].Addr.String()
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
		t.Run(c.name, func(t *testing.T) {
			fake := build(program.Paths{client: script(t, client, server, addr, c.body)})
			err := fails(t, fake, n, name, c.limit, nil)
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\ndoes not say %s", err, c.want)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		before := running(t)
		job, w := n.job(t, name, technique.IPv4)
		job.Duration, w.then = time.Hour, cancel
		if _, err := tool.Run(ctx, job); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		w.check(t, 0)
		nothingLeft(t, before)
	})
	t.Run("client killed", func(t *testing.T) {
		err := fails(t, tool, n, name, 0, func(before map[int]string) { kill(t, before, addr, server, true) })
		if err != nil && !strings.Contains(err.Error(), "kill") {
			t.Errorf("error %v\ndoes not say that it was killed", err)
		}
	})
	t.Run("server killed", func(t *testing.T) {
		fails(t, tool, n, name, within, func(before map[int]string) { kill(t, before, addr, server, false) })
	})
	t.Run("port in use", func(t *testing.T) {
		occupy(t, job.Pairs[0])
		err := fails(t, tool, n, name, 0, nil)
		if err != nil && !strings.Contains(err.Error(), "in use") {
			t.Errorf("error %v\ndoes not say that a port is in use", err)
		}
	})
	trial(t, tool, n, tool.Drives()[0], "again", technique.IPv4, record.Options{}, 0)
}

// fails runs a trial that must fail and leave nothing.
func fails(t *testing.T, tool workload.Tool, n *network, name string, limit time.Duration, meanwhile func(before map[int]string)) error {
	t.Helper()
	before := running(t)
	job, w := n.job(t, name, technique.IPv4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	did := make(chan struct{})
	go func() {
		defer close(did)
		if meanwhile != nil {
			meanwhile(before)
		}
	}()
	if meanwhile != nil {
		job.Duration *= 3
	}
	r, err := tool.Run(ctx, job)
	<-did
	if err == nil {
		t.Errorf("no error, but %+v", r)
	}
	w.check(t, 0)
	nothingLeft(t, before)
	return err
}

// script writes a program that is the real one, unless it is a client: then the address is
// among its arguments or in its environment.
func script(t *testing.T, name, server, addr, body string) string {
	t.Helper()
	real, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\n"
	if server != "" {
		text += fmt.Sprintf("case \"$*\" in *'%s'*) exec %s \"$@\" ;; esac\n", server, real)
	}
	text += fmt.Sprintf("case \"$* $(env)\" in\n*'%s'*)\n%s\n;;\nesac\nexec %s \"$@\"\n",
		addr, strings.ReplaceAll(body, "REAL", real), real)
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// occupy listens on all ports of a pair.
func occupy(t *testing.T, p workload.Pair) {
	t.Helper()
	err := netns.Do(p.Server.(*manned).Endpoint.(platform.NetNSer).NetNS(), func() error {
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
	if err != nil {
		t.Fatal(err)
	}
}
