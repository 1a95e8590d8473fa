package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// methodCancel is the method that ends the context of an earlier request.
const methodCancel = "cancel"

// Ending is an input that calls Ended when nothing more can be read. What handlers have started has to end then, and not only when
// Serve has returned: it waits for their answers, and some of these wait for what they have started.
type Ending struct {
	io.Reader
	Ended func()
}

// Read implements io.Reader.
func (e Ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err != nil {
		e.Ended()
	}
	return n, err
}

// Serve answers requests from r on w until r ends, which is not an error, or ctx does. It returns
// when every handler has returned. If ctx ends while a read of r is blocked, the reading goroutine
// remains until r ends.
func Serve(ctx context.Context, r io.Reader, w io.Writer, handlers map[string]Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{handlers: handlers, w: w, running: map[uint64]context.CancelFunc{}, broken: make(chan error, 1)}
	ended := make(chan error, 1)
	go func() { ended <- s.read(ctx, bufio.NewReader(r)) }()

	var err error
	select {
	case err = <-ended:
	case err = <-s.broken:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	cancel()
	s.stop()
	return err
}

// server is the state of one call of Serve.
type server struct {
	handlers map[string]Handler
	writing  sync.Mutex
	w        io.Writer
	broken   chan error // the first failure to write

	mu      sync.Mutex
	stopped bool
	running map[uint64]context.CancelFunc
	calls   sync.WaitGroup
}

func (s *server) read(ctx context.Context, r io.Reader) error {
	for {
		var req request
		if err := readFrame(r, &req); err != nil {
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return fmt.Errorf("agent: %w", err)
		}
		if req.Method == methodCancel {
			if err := s.cancel(req.Params); err != nil {
				return fmt.Errorf("agent: %w", err)
			}
			continue
		}
		s.begin(ctx, req)
	}
}

// begin handles a request in its own goroutine.
func (s *server) begin(ctx context.Context, req request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	if _, twice := s.running[req.ID]; twice {
		s.write(response{ID: req.ID, Error: fmt.Sprintf("request id %d is in use", req.ID)})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.running[req.ID] = cancel
	s.calls.Go(func() {
		resp := s.answer(ctx, req)
		cancel()
		s.mu.Lock()
		delete(s.running, req.ID)
		s.mu.Unlock()
		s.write(resp)
	})
}

func (s *server) answer(ctx context.Context, req request) response {
	resp := response{ID: req.ID}
	handler, ok := s.handlers[req.Method]
	if !ok {
		resp.Error = fmt.Sprintf("unknown method %q", req.Method)
		return resp
	}
	result, err := handler(ctx, req.Params)
	if err == nil {
		resp.Result, err = json.Marshal(result)
	}
	if err != nil {
		resp.Result, resp.Error = nil, err.Error()
		if resp.Error == "" {
			resp.Error = fmt.Sprintf("%s failed without a message", req.Method)
		}
	}
	return resp
}

func (s *server) cancel(params json.RawMessage) error {
	var id uint64
	if err := json.Unmarshal(params, &id); err != nil {
		return fmt.Errorf("decode id to cancel: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.running[id]; ok {
		cancel()
	}
	return nil
}

func (s *server) write(resp response) {
	frame, err := encodeFrame(resp)
	if err != nil {
		frame, _ = encodeFrame(response{ID: resp.ID, Error: err.Error()})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.w.Write(frame); err != nil {
		select {
		case s.broken <- fmt.Errorf("agent: write response: %w", err):
		default:
		}
	}
}

// stop refuses new requests and waits for the running ones.
func (s *server) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.calls.Wait()
}

// Handler answers one method. Its context ends when the caller gives up or the agent ends; it must
// return then. The result is encoded as JSON.
type Handler func(ctx context.Context, params json.RawMessage) (result any, err error)

// Typed returns a Handler for a function with typed parameters and result.
func Typed[In, Out any](f func(context.Context, In) (Out, error)) Handler {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var in In
		if len(params) > 0 {
			if err := json.Unmarshal(params, &in); err != nil {
				return nil, fmt.Errorf("decode params: %w", err)
			}
		}
		return f(ctx, in)
	}
}
