package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/agent"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
)

// agentEnv makes the test binary an agent. Its value selects how the agent behaves.
const agentEnv = "NETTOLL_TEST_AGENT"

const (
	behaves     = "well"
	diesAtOnce  = "dies at once"
	diesAtStart = "dies at start"

	livesAhead  = "lives an hour ahead"
	livesBehind = "lives an hour behind"
	leaps       = "leaps" // its clock jumps forward when it has begun
	slips       = "slips" // the clock with which it answers over the network jumps then, by less

	stands           = "stands"            // from some time before the window, which follows, until standsAfter after it
	sendsNothing     = "sends nothing"     // but reports that it did
	listensElsewhere = "listens elsewhere" // reports that it listens, and does not
	spins            = "spins"             // for a millisecond before it answers
)

func TestMain(m *testing.M) {
	if how := os.Getenv(agentEnv); how != "" {
		os.Exit(beAgent(how))
	}
	os.Exit(m.Run())
}

func beAgent(how string) int {
	ctx := context.Background()
	handlers := Handlers(ctx)
	die := func(context.Context, json.RawMessage) (any, error) {
		fmt.Fprintln(os.Stderr, "out of coffee")
		os.Exit(3)
		return nil, nil
	}
	how, early, _ := strings.Cut(how, ", ")
	switch how {
	case diesAtOnce:
		die(ctx, nil)
	case diesAtStart:
		handlers[methodStart] = die
	case livesAhead:
		moveClock(handlers, time.Hour)
	case livesBehind:
		moveClock(handlers, -time.Hour)
	case leaps:
		var begun atomic.Bool
		start, clock := handlers[methodStart], handlers[methodClock]
		handlers[methodStart] = func(ctx context.Context, params json.RawMessage) (any, error) {
			begun.Store(true)
			return start(ctx, params)
		}
		handlers[methodClock] = func(ctx context.Context, params json.RawMessage) (any, error) {
			if begun.Load() {
				return clockResult{Now: nanotime() + int64(leap)}, nil
			}
			return clock(ctx, params)
		}
	case slips:
		var by atomic.Int64
		start := handlers[methodStart]
		handlers[methodStart] = func(ctx context.Context, params json.RawMessage) (any, error) {
			by.Store(int64(slip))
			return start(ctx, params)
		}
		handlers[methodAnswer] = agent.Typed(clock(func() int64 { return nanotime() + by.Load() }).answer)
	case stands:
		before, err := time.ParseDuration(early)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		start := handlers[methodStart]
		handlers[methodStart] = func(ctx context.Context, params json.RawMessage) (any, error) {
			var p startParams
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, err
			}
			opens := time.Duration(cmp.Or(p.Begins, nanotime())-nanotime()) + p.Warmup
			stop := exec.Command("sh", "-c", fmt.Sprintf("sleep %f; kill -STOP $PPID; sleep %f; kill -CONT $PPID",
				max(0, opens-before).Seconds(), (before+p.Duration+standsAfter).Seconds()))
			if err := stop.Start(); err != nil {
				return nil, err
			}
			defer stop.Wait()
			return start(ctx, params)
		}
	case sendsNothing:
		handlers[methodStart] = agent.Typed(func(_ context.Context, p startParams) (startResult, error) {
			time.Sleep(p.Warmup + p.Duration)
			return startResult{}, nil
		})
	case spins:
		handlers = Spinning(ctx, time.Millisecond)
	case listensElsewhere:
		handlers[methodServe] = agent.Typed(func(context.Context, openParams) (openResult, error) { return openResult{}, nil })
	}
	if err := agent.Serve(ctx, os.Stdin, os.Stdout, handlers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// standsAfter is much less than flows are waited for after a window.
const standsAfter = 400 * time.Millisecond

// slip is much more than the time that the network of a busy machine takes to answer.
const slip = 300 * time.Millisecond

// leap is more than half of the time that a busy machine takes to answer.
const leap = 10 * time.Second

// moveClock wraps handlers so that their clock is off by the given time.
func moveClock(handlers map[string]agent.Handler, by time.Duration) {
	start := handlers[methodStart]
	handlers[methodStart] = func(ctx context.Context, params json.RawMessage) (any, error) {
		var p startParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		p.Begins -= int64(by)
		p.Over -= int64(by)
		for i := range p.Turns {
			p.Turns[i] -= int64(by)
		}
		moved, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		return start(ctx, moved)
	}
	handlers[methodClock] = agent.Typed(func(context.Context, struct{}) (clockResult, error) {
		return clockResult{Now: nanotime() + int64(by)}, nil
	})
	moved := clock(func() int64 { return nanotime() + int64(by) })
	handlers[methodAnswer], handlers[methodCompare] = agent.Typed(moved.answer), agent.Typed(moved.compare)
}

// endpoint runs agents on this machine.
type endpoint struct {
	name string
	how  string

	mu      sync.Mutex
	started []*agentProcess
}

func newEndpoint(name string) *endpoint { return &endpoint{name: name, how: behaves} }

func (e *endpoint) Name() string { return e.name }

func (e *endpoint) OnHost() string      { return "h1" }
func (*endpoint) Facts() platform.Facts { return platform.Facts{} }

func (e *endpoint) Start(_ context.Context, c platform.Command) (platform.Process, error) {
	if c.Path != platform.Self {
		return nil, fmt.Errorf("start %s: only nettoll itself is here", c.Path)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &agentProcess{cmd: exec.Command(self, c.Args...), done: make(chan struct{})}
	// Otherwise the race detector makes every process take a second to end.
	p.cmd.Env = append(append(os.Environ(), agentEnv+"="+e.how, "GORACE=atexit_sleep_ms=0"), c.Env...)
	p.cmd.Stderr = &p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdout, p.cmd.Stdout = r, w
	err = p.cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		if p.err = p.cmd.Wait(); p.err != nil {
			p.err = fmt.Errorf("%w: %s", p.err, strings.TrimSpace(p.stderr.String()))
		}
		close(p.done)
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, p)
	return p, nil
}

// gone checks that all agents of the endpoint have ended.
func (e *endpoint) gone(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.started {
		select {
		case <-p.done:
		default:
			t.Errorf("%s: agent %d is still there", e.name, p.PID())
		}
	}
}

type agentProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr bytes.Buffer
	done   chan struct{}
	err    error
}

func (p *agentProcess) PID() int              { return p.cmd.Process.Pid }
func (p *agentProcess) Stdin() io.WriteCloser { return p.stdin }
func (p *agentProcess) Stdout() io.Reader     { return p.stdout }
func (p *agentProcess) Wait() error           { <-p.done; return p.err }
func (p *agentProcess) Kill() error           { p.cmd.Process.Kill(); <-p.done; return nil }

func (p *agentProcess) Stderr() string {
	select {
	case <-p.done:
		return p.stderr.String()
	default:
		return ""
	}
}

// leavesNothing checks at the end of a test that it left no socket, no memory file
// and no goroutine of a session.
func leavesNothing(t *testing.T) {
	t.Helper()
	before := descriptors(t)
	t.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
		for after := before + 1; after > before; time.Sleep(time.Millisecond) {
			if after = descriptors(t); after > before && time.Now().After(deadline) {
				t.Errorf("%d sockets and memory files, %d before", after, before)
				break
			}
		}
		for ; ; time.Sleep(time.Millisecond) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			if !bytes.Contains(stacks, []byte("engine.(*session)")) {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("a session is still going on:\n%s", stacks)
				return
			}
		}
	})
}

func descriptors(t *testing.T) int {
	t.Helper()
	return machine.Descriptors(t, "socket:") + machine.Descriptors(t, "/memfd:nettoll-payload")
}
