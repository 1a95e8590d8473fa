// Package agent is nettoll's control path: "nettoll agent" runs where an endpoint's processes run
// and answers requests on its standard input and output. It does not listen on a socket, so there
// is nothing to authenticate, and when the input ends the agent ends.
//
// Both directions carry frames: four bytes with the length, most significant first, then one JSON
// object of that length. A request is {"id":1,"method":"m","params":…}; its response is
// {"id":1,"result":…} or {"id":1,"error":"…"}. Requests are handled concurrently and answered in
// any order. The method "cancel" takes the id of a request whose caller no longer waits, and is not
// answered.
package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"nettoll/internal/oneline"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// ErrEnded is in the error of every call that its agent can no longer answer.
var ErrEnded = errors.New("agent has ended")

// ErrKilled is wrapped by the error of Close if the agent was killed, and has ended: it did not end by itself.
var ErrKilled = errors.New("killed")

// closeWait is how long an agent may take to end after its input has ended. On a busy machine it may get no CPU for
// seconds, and then has to end its programs.
const closeWait = 15 * time.Second

// cancelWait is how long a handler may take to return after its call was cancelled.
var cancelWait = time.Second

// Client communicates with one agent. Its methods may be called concurrently.
type Client struct {
	proc    platform.Process
	writing chan struct{} // held while a frame is written

	mu      sync.Mutex
	closing bool
	last    uint64
	pending map[uint64]chan response
	done    chan struct{}
	err     error // why the agent ended; set before done is closed
}

// Dial returns a client of the agent that runs as proc, whose standard input and output must be
// pipes.
func Dial(proc platform.Process) *Client {
	c := &Client{
		proc:    proc,
		writing: make(chan struct{}, 1),
		pending: map[uint64]chan response{},
		done:    make(chan struct{}),
	}
	go c.read()
	return c
}

// Call calls a method and decodes its result into out, unless out is nil. The error is the
// handler's own text, or wraps ErrEnded or the cause of ctx's end. When ctx ends, the handler's
// context is cancelled, and Call waits up to a second for the handler to return, so that what it
// used, such as a port, is free for the next call.
func (c *Client) Call(ctx context.Context, method string, in, out any) error {
	params, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("agent: encode params of %s: %w", method, err)
	}
	id, answer := c.expect()
	defer c.forget(id)
	if err := c.write(ctx, request{ID: id, Method: method, Params: params}); err != nil {
		return fmt.Errorf("agent: call %s: %w", method, err)
	}
	select {
	case resp := <-answer:
		return decode(method, resp, out)
	case <-c.done:
	case <-ctx.Done():
		go c.cancel(id)
		select {
		case <-answer:
		case <-c.done:
		case <-time.After(cancelWait):
		}
		return fmt.Errorf("agent: call %s: no answer: %w", method, context.Cause(ctx))
	}
	select { // the answer can be the last thing that the agent wrote
	case resp := <-answer:
		return decode(method, resp, out)
	default:
		return fmt.Errorf("agent: call %s: %w", method, c.err)
	}
}

// Caller calls methods of an agent.
type Caller interface {
	Call(ctx context.Context, method string, in, out any) error
}

// Ask calls a method and returns its result.
func Ask[Out any](ctx context.Context, of Caller, method string, in any) (out Out, err error) {
	err = of.Call(ctx, method, in, &out)
	return out, err
}

// cancel tells the agent, as soon as it reads, that the caller no longer waits for an answer.
func (c *Client) cancel(id uint64) {
	_ = c.write(context.Background(), request{Method: methodCancel, Params: fmt.Append(nil, id)}) // fails if the agent has ended
}

func decode(method string, resp response, out any) error {
	if resp.Error != "" {
		return errors.New(resp.Error)
	}
	if out == nil {
		return nil
	}
	return wrap.Error(json.Unmarshal(resp.Result, out), "agent: decode result of %s", method)
}

func (c *Client) expect() (uint64, chan response) {
	answer := make(chan response, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.pending[c.last] = answer
	return c.last, answer
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// write sends a request, or leaves it to a goroutine when ctx ends meanwhile. If the agent has ended, it returns the reason.
func (c *Client) write(ctx context.Context, req request) error {
	frame, err := encodeFrame(req)
	if err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case c.writing <- struct{}{}:
	}
	written := make(chan error, 1)
	go func() { // an agent that does not read would block the caller
		_, err := c.proc.Stdin().Write(frame)
		<-c.writing
		written <- err
	}()
	select {
	case err = <-written:
	case <-c.done:
		return c.err
	case <-ctx.Done(): // it may still arrive, or have arrived: it is cancelled like one that has
	}
	if err == nil {
		return nil
	}
	select { // the reason for a broken pipe is known when the agent's end has been noticed
	case <-c.done:
		return c.err
	case <-time.After(closeWait):
		return fmt.Errorf("write request: %w", err)
	}
}

// read delivers responses until the agent's output ends, and the agent with it.
func (c *Client) read() {
	out := c.proc.Stdout()
	r := bufio.NewReader(out)
	var err error
	for err == nil {
		var resp response
		if err = readFrame(r, &resp); err == nil {
			c.deliver(resp)
		}
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	c.end(err)
	if out, ok := out.(io.Closer); ok {
		out.Close()
	}
	close(c.done)
}

func (c *Client) deliver(resp response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.pending[resp.ID]; ok {
		delete(c.pending, resp.ID)
		answer <- resp
	}
}

// end waits for the process and summarizes in one line how it ended.
func (c *Client) end(readErr error) {
	c.mu.Lock()
	closing := c.closing
	c.mu.Unlock()
	wait := closeWait
	if readErr != nil && !closing {
		wait = 0
	}
	ended := make(chan error, 1)
	go func() { ended <- c.proc.Wait() }()
	var waitErr error
	select {
	case waitErr = <-ended:
	case <-time.After(wait):
		if waitErr = c.proc.Kill(); waitErr == nil { // otherwise it need not end
			waitErr = <-ended
		}
	}

	var said []string
	if readErr != nil {
		said = append(said, readErr.Error())
	}
	if waitErr != nil {
		said = append(said, waitErr.Error())
	}
	if last := oneline.Output(c.proc.Stderr()); !strings.Contains(oneline.Output(strings.Join(said, " ")), last) {
		said = append(said, last)
	}
	c.err = ErrEnded
	if len(said) > 0 {
		c.err = fmt.Errorf("%w: %s", ErrEnded, oneline.Output(strings.Join(said, ": ")))
	}
}

// PID returns the agent's process ID, as this machine numbers it; 0 where it has no meaning here.
func (c *Client) PID() int { return c.proc.PID() }

// Done returns a channel that is closed when the agent has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the agent ended. It is nil while the agent runs.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the agent's input, waits a bounded time for the agent to end, and otherwise kills it,
// which it reports as an error that wraps ErrKilled, with the reason if it does not end even then. Close may be called again.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.proc.Stdin().Close()
	select {
	case <-c.done:
		return nil
	case <-time.After(closeWait):
	}
	if err := c.proc.Kill(); err != nil {
		return fmt.Errorf("agent: killed: it did not end within %v of the end of its input: %w", closeWait, err)
	}
	<-c.done
	return fmt.Errorf("agent: %w: it did not end within %v of the end of its input", ErrKilled, closeWait)
}

// Quiet keeps the Go runtime of an agent from sending signals to threads that have run for 10 ms: a
// thread that measures must not be interrupted.
const Quiet = "GODEBUG=asyncpreemptoff=1"

// GCPercent is the garbage collector's setting (debug.SetGCPercent) for agents, and for the process that measures. These keep 2 to
// 3 MB in use. With the usual setting of 100 they collect their garbage whenever there are 4 MB, which takes a tenth of the CPU time
// between turns.
const GCPercent = 400

// Start runs an agent in an endpoint. The caller closes the client.
func Start(ctx context.Context, endpoint platform.Endpoint) (*Client, error) {
	proc, err := endpoint.Start(ctx, platform.Command{
		Path: platform.Self,
		Args: []string{"agent"},
		Env:  []string{Quiet},
	})
	if err != nil {
		return nil, fmt.Errorf("agent: start in %s: %w", endpoint.Name(), err)
	}
	return Dial(proc), nil
}
