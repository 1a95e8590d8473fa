package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// fakeProcess is an agent over pipes. It ends when serve returns.
type fakeProcess struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	stderr string
	done   chan struct{}
	err    error
	killed func()
}

// run starts a fake process that runs serve.
func run(serve func(r io.Reader, w io.Writer) error) *fakeProcess {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &fakeProcess{in: inW, out: outR, done: make(chan struct{})}
	p.killed = func() { inR.CloseWithError(errors.New("killed")); outW.CloseWithError(io.EOF) }
	go func() {
		p.err = serve(inR, outW)
		inR.Close()
		outW.Close()
		close(p.done)
	}()
	return p
}

func (p *fakeProcess) PID() int              { return 0 }
func (p *fakeProcess) Stdin() io.WriteCloser { return p.in }
func (p *fakeProcess) Stdout() io.Reader     { return p.out }
func (p *fakeProcess) Stderr() string        { return p.stderr }
func (p *fakeProcess) Wait() error           { <-p.done; return p.err }
func (p *fakeProcess) Kill() error           { p.killed(); <-p.done; return nil }

type sum struct{ A, B int }

func handlers() map[string]Handler {
	return map[string]Handler{
		"add":   Typed(func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }),
		"fail":  Typed(func(context.Context, struct{}) (int, error) { return 0, errors.New("bridge: no such device") }),
		"mute":  Typed(func(context.Context, struct{}) (int, error) { return 0, errors.New("") }),
		"huge":  Typed(func(context.Context, struct{}) (string, error) { return strings.Repeat("x", MaxFrame), nil }),
		"wrong": Typed(func(context.Context, struct{}) (any, error) { return make(chan int), nil }),
	}
}

func dial(t *testing.T, handlers map[string]Handler) *Client {
	t.Helper()
	c := Dial(run(func(r io.Reader, w io.Writer) error { return Serve(context.Background(), r, w, handlers) }))
	t.Cleanup(func() { iferr.Error(t, c.Close()) })
	return c
}

func TestCallConcurrently(t *testing.T) {
	c := dial(t, handlers())
	var calls sync.WaitGroup
	for i := range 50 {
		calls.Go(func() {
			var got int
			if err := c.Call(t.Context(), "add", sum{i, 1}, &got); err != nil || got != i+1 {
				t.Errorf("%d + 1 = %d, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

func TestCallErrors(t *testing.T) {
	c := dial(t, handlers())
	for _, call := range []struct {
		method, want string
		in           any
	}{
		{"fail", "bridge: no such device", struct{}{}},
		{"mute", "mute failed without a message", struct{}{}},
		{"huge", "16777216 allowed", struct{}{}},
		{"wrong", "unsupported type", struct{}{}},
		{"nothing", `unknown method "nothing"`, struct{}{}},
		{"add", "decode params", "text"},
		{"add", "encode params of add", make(chan int)},
	} {
		err := c.Call(t.Context(), call.method, call.in, nil)
		if err == nil || !strings.Contains(err.Error(), call.want) {
			t.Errorf("%s: error %v does not say %q", call.method, err, call.want)
		}
	}
	var wrong struct{ A int }
	if err := c.Call(t.Context(), "add", sum{1, 2}, &wrong); err == nil || !strings.Contains(err.Error(), "decode result of add") {
		t.Errorf("wrong type of result: error %v", err)
	}
}

// TestCallCancelled checks that the handler's context ends when its caller gives up, that the handler has returned by
// then, and that the agent can be used afterwards.
func TestCallCancelled(t *testing.T) {
	defer func(was time.Duration) { cancelWait = was }(cancelWait)
	cancelWait = time.Minute // a busy machine lets the handler return late
	running, told := make(chan struct{}), make(chan struct{})
	h := handlers()
	h["wait"] = Typed(func(ctx context.Context, _ struct{}) (int, error) {
		close(running)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		close(told)
		return 0, ctx.Err()
	})
	c := dial(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-running; cancel() }()
	if err := c.Call(ctx, "wait", struct{}{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	select {
	case <-told:
	default:
		t.Error("the handler runs on")
	}
	iferr.Error(t, c.Call(t.Context(), "add", sum{1, 2}, nil))
}

// TestHandlerStays has a handler that does not return when its call is cancelled: the caller does not wait for it.
func TestHandlerStays(t *testing.T) {
	h := handlers()
	running, end := make(chan struct{}), make(chan struct{})
	h["stay"] = Typed(func(context.Context, struct{}) (int, error) { close(running); <-end; return 0, nil })
	c := dial(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-running; cancel() }()
	if err := c.Call(ctx, "stay", struct{}{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(end)
}

func TestAgentDiesDuringCall(t *testing.T) {
	p := run(func(r io.Reader, w io.Writer) error {
		var req request
		readFrame(r, &req)
		return errors.New("exit status 2: out of memory\nfatal error")
	})
	p.stderr = "out of memory\nfatal error"
	c := Dial(p)
	for range 2 { // the second call finds it dead
		err := c.Call(t.Context(), "add", sum{}, nil)
		if !errors.Is(err, ErrEnded) {
			t.Fatalf("error %v", err)
		}
		if want := "agent: call add: agent has ended: exit status 2: out of memory | fatal error"; err.Error() != want {
			t.Errorf("got  %q\nwant %q", err, want)
		}
	}
	if c.Err() == nil {
		t.Error("Err is nil")
	}
	iferr.Error(t, c.Close())
}

func TestAgentSpeaksGarbage(t *testing.T) {
	p := run(func(r io.Reader, w io.Writer) error {
		fmt.Fprintln(w, "welcome to this machine")
		_, err := io.Copy(io.Discard, r)
		return err
	})
	c := Dial(p)
	err := c.Call(t.Context(), "add", sum{}, nil)
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), `begins with "welc"`) {
		t.Errorf("error %v", err)
	}
}

func TestCloseKillsWhoDoesNotEnd(t *testing.T) {
	t.Parallel() // it waits for an agent's time to end
	gate := make(chan struct{})
	p := run(func(io.Reader, io.Writer) error { <-gate; return nil })
	kill := p.killed
	p.killed = func() { close(gate); kill() }
	err := Dial(p).Close()
	if !errors.Is(err, ErrKilled) {
		t.Errorf("error %v", err)
	}
}

// TestAgentThatCannotBeKilled has an agent that hangs in the kernel: neither its killer nor its callers wait for its end.
func TestAgentThatCannotBeKilled(t *testing.T) {
	t.Parallel() // it waits for an agent's time to end
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	p := run(func(io.Reader, io.Writer) error { <-hung; return nil })
	const why = "process 7 did not end within 1m0s of being killed"
	t.Run("its input ends", func(t *testing.T) {
		t.Parallel()
		err := Dial(unkillable{p, why}).Close()
		if want := "agent: killed: it did not end within 15s of the end of its input: " + why; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
	t.Run("its output ends", func(t *testing.T) {
		t.Parallel()
		p := run(func(r io.Reader, w io.Writer) error {
			w.(io.Closer).Close()
			go io.Copy(io.Discard, r)
			<-hung
			return nil
		})
		c := Dial(unkillable{p, why})
		if err := c.Call(t.Context(), "add", sum{}, nil); !errors.Is(err, ErrEnded) || !strings.HasSuffix(err.Error(), why) {
			t.Errorf("error %v", err)
		}
		iferr.Error(t, c.Close())
	})
}

// unkillable is a process that does not end when it is killed.
type unkillable struct {
	*fakeProcess
	why string
}

func (u unkillable) Kill() error { return errors.New(u.why) }

func TestServeEnds(t *testing.T) {
	blocked := func(started chan<- struct{}) map[string]Handler {
		return map[string]Handler{"wait": func(ctx context.Context, _ json.RawMessage) (any, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	}
	frame, err := encodeFrame(request{ID: 1, Method: "wait"})
	iferr.Fatal(t, err)
	t.Run("with its input", func(t *testing.T) {
		started := make(chan struct{})
		r, w := io.Pipe()
		go func() { w.Write(frame); <-started; w.Close() }()
		iferr.Error(t, Serve(t.Context(), r, io.Discard, blocked(started)))
	})
	t.Run("with its input, although an answer waits for what was started", func(t *testing.T) {
		lives, end := context.WithCancel(t.Context())
		started := make(chan struct{})
		r, w := io.Pipe()
		go func() { w.Write(frame); <-started; w.Close() }()
		iferr.Error(t, Serve(t.Context(), Ending{r, end}, io.Discard, map[string]Handler{"wait": func(context.Context, json.RawMessage) (any, error) {
			close(started)
			<-lives.Done() // as of a process that is read from
			return nil, lives.Err()
		}}))
	})
	t.Run("with its context", func(t *testing.T) {
		started := make(chan struct{})
		r, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { w.Write(frame); <-started; cancel() }()
		if err := Serve(ctx, r, io.Discard, blocked(started)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("on garbage", func(t *testing.T) {
		if err := Serve(t.Context(), strings.NewReader("GET / HTTP/1.1\r\n"), io.Discard, nil); err == nil {
			t.Error("no error")
		}
	})
	t.Run("when nobody listens", func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		go w.Write(frame)
		out, in := io.Pipe()
		out.Close()
		if err := Serve(t.Context(), r, in, nil); err == nil || !strings.Contains(err.Error(), "write response") {
			t.Errorf("error %v", err)
		}
	})
}

// endpoint starts agents that live in this process.
type endpoint struct{ started platform.Command }

func (e *endpoint) Name() string { return "c1" }

func (e *endpoint) OnHost() string      { return "h1" }
func (*endpoint) Facts() platform.Facts { return platform.Facts{} }

func (e *endpoint) Start(ctx context.Context, cmd platform.Command) (platform.Process, error) {
	e.started = cmd
	return run(func(r io.Reader, w io.Writer) error { return Serve(context.Background(), r, w, handlers()) }), nil
}

func TestStart(t *testing.T) {
	e := &endpoint{}
	c, err := Start(t.Context(), e)
	iferr.Fatal(t, err)
	defer c.Close()
	if e.started.Path != platform.Self || fmt.Sprint(e.started.Args, e.started.Env) != "[agent] [GODEBUG=asyncpreemptoff=1]" {
		t.Errorf("started %+v", e.started)
	}
	iferr.Error(t, c.Call(t.Context(), "add", sum{}, nil))
}

// TestAgentThatDoesNotRead has an agent that hangs: a call waits for it no longer than its context
// allows.
func TestAgentThatDoesNotRead(t *testing.T) {
	t.Parallel() // it waits for an agent's time to end
	hung := make(chan struct{})
	p := run(func(io.Reader, io.Writer) error { <-hung; return nil })
	kill := p.killed
	p.killed = func() { kill(); close(hung) }
	c := Dial(p)
	for range 2 { // the second finds the first one's request still being written
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := c.Call(ctx, "add", sum{1, 1}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		cancel()
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("close: %v", err)
	}
}

// TestRequestThatArrivesLate has an agent read a request whose caller gave up while it was being
// written: the request is cancelled.
func TestRequestThatArrivesLate(t *testing.T) {
	slow, cancelled := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	h := map[string]Handler{"wait": Typed(func(ctx context.Context, _ struct{}) (int, error) {
		<-ctx.Done()
		close(cancelled)
		return 0, ctx.Err()
	})}
	c := Dial(run(func(r io.Reader, w io.Writer) error {
		first := make([]byte, 1)
		_, err := io.ReadFull(r, first)
		cancel()
		<-slow
		return errors.Join(err, Serve(context.Background(), io.MultiReader(bytes.NewReader(first), r), w, h))
	}))
	if err := c.Call(ctx, "wait", struct{}{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(slow)
	select {
	case <-cancelled:
	case <-time.After(time.Minute):
		t.Error("the agent goes on with what nobody waits for")
	}
	iferr.Error(t, c.Close())
}
