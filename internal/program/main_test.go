package program

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/keeper"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

// The test program also serves as the programs that are run.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], keeper.Args) {
		os.Exit(keeper.Main())
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "listen":
			os.Exit(listen(os.Args[2], os.Args[3], os.Args[4], os.Args[5:]...))
		case "apart":
			if _, err := syscall.Setsid(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			spin(os.Args[2])
			os.Exit(0)
		case "spin":
			spin(os.Args[2])
			os.Exit(0)
		case "tell":
			spin(os.Args[2])
			var own syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds())
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// listen is a server: it prints a line when it is asked to end. It starts a child that prints its
// CPU time when something is written to the fifo.
func listen(protocol, port, at string, fifo ...string) int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	var err error
	if protocol == "udp" {
		_, err = net.ListenPacket(protocol, net.JoinHostPort(at, port))
	} else {
		_, err = net.Listen(protocol, net.JoinHostPort(at, port))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, f := range fifo {
		if _, err := os.ReadFile(f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		c := exec.Command("/proc/self/exe", "tell", "3ms")
		c.Stdout = os.Stdout
		if err := c.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	<-asked
	fmt.Println("goodbye")
	return 0
}

// spin uses a CPU for a while.
func spin(duration string) {
	d, _ := time.ParseDuration(duration)
	for until := time.Now().Add(d); time.Now().Before(until); {
	}
}

// self returns the test program as a command.
func self(t *testing.T, args ...string) Command {
	t.Helper()
	path, err := os.Executable()
	iferr.Fatal(t, err)
	return Command{Path: path, Args: args}
}

func sh(script string) Command { return Command{Path: "/bin/sh", Args: []string{"-c", script}} }

// endpoint has an agent in this process.
type endpoint struct {
	name     string
	client   *agent.Client
	handlers map[string]agent.Handler
}

func newEndpoint(t *testing.T, name string) *endpoint {
	t.Helper()
	e := &endpoint{name: name, handlers: Handlers()}
	p, _ := e.Start(t.Context(), platform.Command{})
	e.client = agent.Dial(p)
	t.Cleanup(func() { iferr.Error(t, e.client.Close()) })
	return e
}

func (e *endpoint) Name() string { return e.name }

func (e *endpoint) OnHost() string                               { return "h1" }
func (*endpoint) Facts() platform.Facts                          { return platform.Facts{} }
func (e *endpoint) Agent(context.Context) (*agent.Client, error) { return e.client, nil }

// Start starts an agent, whatever the command.
func (e *endpoint) Start(context.Context, platform.Command) (platform.Process, error) {
	p := &agentHere{done: make(chan struct{})}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	p.in, p.out = stdin, stdout
	go func() {
		p.err = agent.Serve(context.Background(), in, out, e.handlers)
		out.Close()
		close(p.done)
	}()
	return p, nil
}

// agentHere is an agent in this process that acts as a process.
type agentHere struct {
	in   io.WriteCloser
	out  io.Reader
	done chan struct{}
	err  error
}

func (p *agentHere) PID() int              { return 0 }
func (p *agentHere) Stdin() io.WriteCloser { return p.in }
func (p *agentHere) Stdout() io.Reader     { return p.out }
func (p *agentHere) Stderr() string        { return "" }
func (p *agentHere) Wait() error           { <-p.done; return p.err }
func (p *agentHere) Kill() error           { return p.in.Close() }

// gone waits until no process has this text among its arguments.
func gone(t *testing.T, mark string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		left := machine.Processes(t, mark)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%v are left of %s", left, mark)
			return
		}
	}
}

// observer records the notifications of a job's observer.
type observer struct {
	mu    sync.Mutex
	calls []string
}

func (o *observer) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, what)
}

func (o *observer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.calls, " ")
}
