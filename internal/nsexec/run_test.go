package nsexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"nettoll/internal/nsexec"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

// here is this machine as an endpoint.
type here struct{}

func (here) Name() string { return "here" }

func (here) OnHost() string        { return "h1" }
func (here) Facts() platform.Facts { return platform.Facts{} }

func (here) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	return nsexec.Start(ctx, "here", "", os.Environ(), c)
}

func TestRunEndsWithItsCaller(t *testing.T) {
	run := func(ctx context.Context, script string) error {
		return nsexec.Run(ctx, here{}, platform.Command{Path: "sh", Args: []string{"-c", script}})
	}
	iferr.Error(t, run(t.Context(), "exit 0"))
	if err := run(t.Context(), "exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := run(ctx, "exec sleep 60"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestOutputHeldOpen has a program end and leave another one in a separate session, which holds its
// output open.
func TestOutputHeldOpen(t *testing.T) {
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- nsexec.Run(context.Background(), here{}, platform.Command{
			Path: "sh", Args: []string{"-c", "setsid sleep 30 & echo said"}, Stdout: &out,
		})
	}()
	select {
	case err := <-ended:
		if err != nil || out.String() != "said\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	case <-time.After(25 * time.Second): // before the other one ends
		t.Error("it is waited for who holds the output")
	}
}

// TestVariablesOfGo checks that what a user sets for Go programs of their own reaches only their own commands.
func TestVariablesOfGo(t *testing.T) {
	for _, name := range []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"} {
		t.Setenv(name, "1")
	}
	t.Setenv("GOPHER", "stays")
	for _, c := range []struct {
		foreground bool
		want       string
	}{{false, "GODEBUG=own GOPHER=stays"}, {true, "GODEBUG=own GOGC=1 GOMAXPROCS=1 GOMEMLIMIT=1 GOPHER=stays GOTRACEBACK=1"}} {
		var out bytes.Buffer
		iferr.Fatal(t, nsexec.Run(t.Context(), here{}, platform.Command{
			Path: "sh", Args: []string{"-c", "env | grep -v ^GOFLAGS | grep ^GO | sort"}, Env: []string{"GODEBUG=own"}, Stdout: &out, Foreground: c.foreground,
		}))
		if got := strings.Join(strings.Fields(out.String()), " "); got != c.want {
			t.Errorf("foreground %v: %s, want %s", c.foreground, got, c.want)
		}
	}
}

// TestOutOfMemory has the kernel kill a process of a small control group.
func TestOutOfMemory(t *testing.T) {
	if !machine.Small(t) {
		return
	}
	run := func(script string) string {
		return fmt.Sprint(nsexec.Run(t.Context(), here{}, platform.Command{Path: "sh", Args: []string{"-c", script}}))
	}
	if got, want := run("exec tail /dev/zero"), "signal: killed by the kernel: out of memory (OOM)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := run("kill -9 $$"), "signal: killed"; got != want {
		t.Errorf("afterwards: %s, want %s", got, want)
	}
}

// TestTail has Go programs that get no thread, and that panic, or end in C: the reason is not lost among the stacks of their goroutines.
func TestTail(t *testing.T) {
	for why, stacks := range map[string]string{
		"runtime: failed to create new OS thread (have 20 already; errno=11)\nruntime: may need to increase max user processes (ulimit -u)\nfatal error: newosproc": "runtime stack:\n",
		"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1]":                                "goroutine 1 [running]:\n",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\nPC=0x7fad23837eec m=5 sigcode=18446744073709551610":                  "goroutine 0 [idle]:\n",
		"SIGSEGV: segmentation violation\nPC=0x7fad23837eec m=5 sigcode=1":                                                                                          "goroutine 0 [idle]:\n",
	} {
		var tail nsexec.Tail
		for _, part := range []string{strings.Repeat("before\n", 1000), why, "\n", "\n" + stacks, strings.Repeat("runtime.throw({0x17d4783?})\n", 1000)} {
			if n, err := tail.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("wrote %d of %d bytes, %v", n, len(part), err)
			}
		}
		if got := tail.String(); got != why {
			t.Errorf("it kept %q", got)
		}
	}
}
