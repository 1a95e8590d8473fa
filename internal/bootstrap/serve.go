package bootstrap

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"nettoll/agent"
)

// How the two ends know of each other: nettoll calls MethodAlive every Beat, more rarely during measurements, and the
// agent ends when it has heard nothing for Silence. Ssh notices a dead connection much later, if at all.
const (
	MethodAlive = "bootstrap.alive" // nothing → nothing
	Beat        = 7 * time.Second
	Silence     = 30 * time.Second
)

// endTime is how long an agent may take to end what it has started when its input is silent.
const endTime = 3 * time.Second

// IsAgent reports whether the arguments of a program, without its own name, are those of an injected agent.
func IsAgent(args []string) bool {
	return len(args) == 3 && slices.Equal(args[:2], []string{"agent", "injected"})
}

// held is the descriptor by which the script started the agent.
const held = 9

// WatchEnv names the environment variable with the id of a process that ends everything if no agent comes to run. The
// agent kills it.
const WatchEnv = "NETTOLL_WATCH"

// Serve is an injected agent: it says hello, and then serves handlers on its standard input and output, until the input
// ends or is silent.
func Serve(mark string, in io.Reader, out io.Writer, handlers func(context.Context) map[string]agent.Handler) error {
	_ = syscall.Close(held) // an agent that was started otherwise does not have it
	if pid, err := strconv.Atoi(os.Getenv(WatchEnv)); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_ = os.Unsetenv(WatchEnv)
	}
	if _, err := fmt.Fprintf(out, "%s %s\n", mark, saysHello); err != nil {
		return err
	}
	return Watch(Silence, in, out, handlers)
}

// Watched returns the arguments of an agent that need not be sent, and ends when it has heard nothing for so long.
func Watched(silence time.Duration) []string { return []string{"agent", "watched", silence.String()} }

// IsWatched reports whether a program's arguments are those of such an agent, and how long it waits.
func IsWatched(args []string) (silence time.Duration, is bool) {
	if len(args) != 3 || !slices.Equal(args[:2], Watched(0)[:2]) {
		return 0, false
	}
	silence, err := time.ParseDuration(args[2])
	return silence, err == nil && silence > 0
}

// Watch is such an agent: it serves handlers on its standard input and output, until the input ends or is silent.
func Watch(silence time.Duration, in io.Reader, out io.Writer, handlers func(context.Context) map[string]agent.Handler) error {
	return watch(silence, in, out, handlers, func() { os.Exit(1) })
}

func watch(silence time.Duration, in io.Reader, out io.Writer, handlers func(context.Context) map[string]agent.Handler, exit func()) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// What the handlers have started ends as soon as the input does: some of their answers wait for it.
	lives, end := context.WithCancel(ctx)
	defer end()
	heard := &listener{Reader: agent.Ending{Reader: in, Ended: end}}
	heard.note()
	go heard.watch(ctx, silence, func() {
		cancel(fmt.Errorf("nothing has come for %v", silence))
		time.AfterFunc(endTime, exit) // an answer that nobody reads can block
	})
	all := handlers(lives)
	all[MethodAlive] = agent.Typed(func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	return agent.Serve(ctx, heard, out, all)
}

// listener notes when something was read last.
type listener struct {
	io.Reader
	last atomic.Int64 // ns since began
}

var began = time.Now()

func (l *listener) note() { l.last.Store(int64(time.Since(began))) }

// Read implements io.Reader.
func (l *listener) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	l.note()
	return n, err
}

// watch calls end once nothing has been read for the time given, unless ctx ends first. It looks twice: after a
// pause of this machine, its timer can be earlier than the thread that reads what has come meanwhile.
func (l *listener) watch(ctx context.Context, silence time.Duration, end func()) {
	for again := false; ; {
		left := silence - (time.Since(began) - time.Duration(l.last.Load()))
		switch {
		case left > 0:
			again = false
		case again:
			end()
			return
		default:
			again, left = true, silence/30
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}

// mostLeftOut is how many beats in a row are left out at most: an agent hears something within three times Beat, which
// is less than Silence.
const mostLeftOut = 2

// Pulse says whether beats may be sent: a beat and its answer are packets, which could be in a measured window.
type Pulse struct{ holds atomic.Int32 }

// Hold has the beats of each agent left out, mostLeftOut at a time, until release is called.
func (p *Pulse) Hold() (release func()) {
	p.holds.Add(1)
	return sync.OnceFunc(func() { p.holds.Add(-1) })
}

// due reports whether an agent's beat, whose time has come, is sent. leftOut counts those that were left out in a row.
func (p *Pulse) due(leftOut *int) bool {
	if p.holds.Load() > 0 && *leftOut < mostLeftOut {
		*leftOut++
		return false
	}
	*leftOut = 0
	return true
}

// Beating calls MethodAlive at intervals, unless the pulse is held, until ctx ends or the agent has ended. An agent that
// does not answer in time is taken to be gone: then it calls lost.
func Beating(ctx context.Context, c *agent.Client, pulse *Pulse, interval, within time.Duration, lost func()) {
	leftOut := 0
	for c.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
		if !pulse.due(&leftOut) {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, within)
		err := c.Call(bounded, MethodAlive, struct{}{}, nil)
		cancel()
		if err != nil && ctx.Err() == nil && c.Err() == nil {
			lost()
			return
		}
	}
}
