package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/await"
	"nettoll/internal/bootstrap"
	"nettoll/internal/keeper"
	"nettoll/internal/nsexec"
	"nettoll/internal/remote"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// there starts an injected agent as another machine would.
func there(t *testing.T) (*remote.Host, platform.Process) {
	t.Helper()
	return thereWith(t, "", nil)
}

// thereWith is there with changes that sh makes to the mounts of that machine, and with tools for it.
func thereWith(t *testing.T, changes string, tools *bootstrap.Tools) (*remote.Host, platform.Process) {
	t.Helper()
	mark := bootstrap.Mark()
	command := platform.Command{Path: platform.Self, Args: []string{"agent", "injected", mark}}
	if changes != "" {
		self, err := os.Executable()
		iferr.Fatal(t, err)
		command = platform.Command{Path: "unshare", Args: []string{"-m", "--propagation", "private", "sh", "-ec", changes + "\nexec " + self + " agent injected " + mark}}
	}
	p, err := nsexec.Start(t.Context(), "h1", "", os.Environ(), command)
	iferr.Fatal(t, err)
	in, err := bootstrap.Inject(t.Context(), p, mark, nil)
	iferr.Fatal(t, err)
	h := remote.NewHost("h1", "another machine", agent.Dial(in), tools)
	t.Cleanup(func() { iferr.Error(t, h.Close()) })
	return h, p
}

func run(t *testing.T, e platform.Endpoint, script string) platform.Process {
	t.Helper()
	p, err := e.Start(t.Context(), platform.Command{Path: "sh", Args: []string{"-c", script}})
	iferr.Fatal(t, err)
	return p
}

func TestProcesses(t *testing.T) {
	h, _ := there(t)
	p := run(t, h, "cat; echo last words >&2; exit 3")
	sent := strings.Repeat("what goes in comes out\n", 30_000)
	go func() {
		_, _ = io.WriteString(p.Stdin(), sent)
		p.Stdin().Close()
	}()
	if b, err := io.ReadAll(p.Stdout()); err != nil || string(b) != sent {
		t.Errorf("%d of %d bytes came back: %v", len(b), len(sent), err)
	}
	if err := p.Wait(); err == nil || err.Error() != "exit status 3: last words" || p.Stderr() != "last words" {
		t.Errorf("%v, %q", err, p.Stderr())
	}
	// Output from before the end can be read after it.
	p = run(t, h, "echo here")
	iferr.Error(t, p.Wait())
	if b, err := io.ReadAll(p.Stdout()); err != nil || string(b) != "here\n" {
		t.Errorf("%q, %v", b, err)
	}
	// Streams of the caller's own.
	var out, errs strings.Builder
	p, err := h.Start(t.Context(), platform.Command{Path: "sh", Args: []string{"-c", "cat; echo oh >&2"}, Stdin: strings.NewReader("given"), Stdout: &out, Stderr: &errs})
	iferr.Fatal(t, err)
	if err := p.Wait(); err != nil || out.String() != "given" || errs.String() != "oh\n" || p.Stdout() != nil {
		t.Errorf("%v, %q, %q", err, out.String(), errs.String())
	}
	// A process that is killed, with what it has started.
	p = run(t, h, "sleep 1000 & echo ready; wait")
	if _, err := io.ReadFull(p.Stdout(), make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		iferr.Error(t, p.Kill())
	}
	if rest, err := io.ReadAll(p.Stdout()); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	if _, err := h.Start(t.Context(), platform.Command{Path: "no-program-has-this-name"}); err == nil || !strings.HasPrefix(err.Error(), "h1: start no-program-has-this-name: ") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Start(ctx, platform.Command{Path: "true"}); err == nil {
		t.Error("started although the caller had given up")
	}
}

// TestOutputHeldOpen has a program end and leave another one in a separate session, which holds its outputs open.
func TestOutputHeldOpen(t *testing.T) {
	defer remote.SetLastWords(2 * time.Second)()
	h, _ := there(t)
	var out, errs strings.Builder
	p, err := h.Start(t.Context(), platform.Command{Path: "sh", Args: []string{"-c", "setsid sleep 30 & echo said"}, Stdout: &out, Stderr: &errs})
	iferr.Fatal(t, err)
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		if err != nil || out.String() != "said\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	case <-time.After(25 * time.Second): // before the other one ends
		t.Error("it is waited for who holds the outputs")
	}
}

// TestContainers starts processes in namespaces that the agent holds, and removes these.
func TestContainers(t *testing.T) {
	h, _ := there(t)
	all, err := h.Containers(t.Context(), 2)
	iferr.Fatal(t, err)
	seen := map[string]bool{}
	for i, e := range all {
		if want := fmt.Sprintf("h1c%d", i+1); e.Name() != want || e.OnHost() != "h1" {
			t.Errorf("%s on %s, want %s", e.Name(), e.OnHost(), want)
		}
		p := run(t, e, "readlink /proc/self/ns/net")
		b, err := io.ReadAll(p.Stdout())
		iferr.Fatal(t, err)
		seen[string(b)] = true
		devices, err := e.(*remote.Container).Interfaces(t.Context())
		if err != nil || len(devices) != 1 || devices[0].Name != "lo" {
			t.Errorf("devices %v, %v", devices, err)
		}
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil || len(seen) != 2 || seen[own+"\n"] {
		t.Errorf("namespaces %v, own %s, %v", seen, own, err)
	}
	iferr.Error(t, (&remote.Hosts{Machines: []*remote.Host{h}}).Close(t.Context()))
	if _, err := all[0].Start(t.Context(), platform.Command{Path: "true"}); err == nil {
		t.Error("a process was started in a namespace that was removed")
	}
}

// TestKilled kills an agent. What it has started ends with it, although it does not look at its input.
func TestKilled(t *testing.T) {
	h, p := there(t)
	all, err := h.Containers(t.Context(), 1)
	iferr.Fatal(t, err)
	var pids []int
	for _, e := range []platform.Endpoint{h, all[0]} {
		var pid int
		if _, err := fmt.Fscan(run(t, e, "echo $$; exec sleep 1000").Stdout(), &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	iferr.Fatal(t, p.Kill())
	for _, pid := range pids {
		iferr.Error(t, await.Until(t.Context(), 20*time.Second, time.Millisecond, func(context.Context) (missing, err error) {
			if syscall.Kill(pid, 0) == nil {
				missing = fmt.Errorf("process %d has survived its agent", pid)
			}
			return missing, nil
		}))
	}
}

// TestGivenUpInTheLastInstant has callers give up when the agent has answered, and its answer is still under way. Nobody takes what
// the answer is about, so that it has to end nevertheless.
func TestGivenUpInTheLastInstant(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/net")
	iferr.Fatal(t, err)
	for name, c := range map[string]struct {
		make func(context.Context, *remote.Host) error
		left func(agent int) bool
	}{
		"a process": {
			func(ctx context.Context, h *remote.Host) error {
				_, err := h.Start(ctx, platform.Command{Path: "sleep", Args: []string{"1000"}})
				return err
			},
			func(agent int) bool { return len(keeper.Family(agent)) > 1 },
		},
		"a namespace": {
			func(ctx context.Context, h *remote.Host) error { _, err := h.Space(ctx); return err },
			func(agent int) bool {
				open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", agent))
				return slices.ContainsFunc(open, func(fd string) bool {
					to, err := os.Readlink(fd)
					return err == nil && strings.HasPrefix(to, "net:") && to != own
				})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mark := bootstrap.Mark()
			p, err := nsexec.Start(t.Context(), "h1", "", os.Environ(), platform.Command{Path: platform.Self, Args: []string{"agent", "injected", mark}})
			iferr.Fatal(t, err)
			in, err := bootstrap.Inject(t.Context(), p, mark, nil)
			iferr.Fatal(t, err)
			way := &lateReader{from: in.Stdout(), pass: make(chan struct{}), held: make(chan struct{}, 1)}
			h := remote.NewHost("h1", "another machine", agent.Dial(late{in, way}), nil)
			t.Cleanup(func() { iferr.Error(t, h.Close()) })
			pass := sync.OnceFunc(func() { close(way.pass) })
			t.Cleanup(pass)
			ctx, giveUp := context.WithCancel(t.Context())
			made := make(chan error, 1)
			go func() { made <- c.make(ctx, h) }()
			<-way.held
			if !c.left(p.PID()) {
				t.Fatal("the agent has made nothing")
			}
			giveUp()
			if err := <-made; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			pass()
			iferr.Error(t, await.Until(t.Context(), 20*time.Second, time.Millisecond, func(context.Context) (missing, err error) {
				if c.left(p.PID()) {
					missing = errors.New("it is left, although nobody has it")
				}
				return missing, nil
			}))
		})
	}
}

// late is a process whose output comes by another way.
type late struct {
	platform.Process
	way io.Reader
}

func (l late) Stdout() io.Reader { return l.way }

// lateReader holds back what it has read until pass is closed, and then no more.
type lateReader struct {
	from       io.Reader
	held, pass chan struct{}
}

// Read implements io.Reader.
func (r *lateReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	select {
	case r.held <- struct{}{}:
	default: // the first was enough
	}
	<-r.pass
	return n, err
}

// TestMachineEnds ends an agent while processes run: in an orderly way, by closing its input, and by SIGKILL. The
// processes end, and their users learn why.
func TestMachineEnds(t *testing.T) {
	for name, end := range map[string]func(platform.Process) error{
		"with its input": func(p platform.Process) error { return p.Stdin().Close() },
		"killed":         func(p platform.Process) error { return p.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			h, p := there(t)
			c, err := agent.Start(t.Context(), h)
			iferr.Fatal(t, err)
			iferr.Fatal(t, end(p))
			ended := make(chan error, 1)
			go func() { ended <- c.Call(t.Context(), bootstrap.MethodAlive, nil, nil) }()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "agent has ended") {
					t.Errorf("error %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("it goes on")
			}
			c.Close()
			if err := p.Wait(); name != "killed" && err != nil {
				t.Error(err)
			}
		})
	}
}

// TestContainersOfALostMachine: that nothing answers there any more is no lack of rights, for which a network would never be tried
// again.
func TestContainersOfALostMachine(t *testing.T) {
	h, p := there(t)
	iferr.Fatal(t, p.Kill())
	if _, err := h.Make(t.Context(), 1); err == nil || errors.Is(err, platform.ErrUnsupported) {
		t.Error(err)
	}
}
