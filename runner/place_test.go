package runner_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/netip"

	"nettoll/agent"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// place is an endpoint whose agents are goroutines of the test.
type place string

func (p place) Name() string { return string(p) }

func (p place) OnHost() string      { return "h1" }
func (place) Facts() platform.Facts { return platform.Facts{} }

func (p place) Start(context.Context, platform.Command) (platform.Process, error) {
	return started(nil)
}

// started returns an agent that answers the given methods, too.
func started(also map[string]agent.Handler) (platform.Process, error) {
	in, out := &pipe{}, &pipe{}
	in.r, in.w = io.Pipe()
	out.r, out.w = io.Pipe()
	a := &goAgent{in: in, out: out, done: make(chan struct{})}
	handlers := map[string]agent.Handler{
		sampler.MethodEndpoint: agent.Typed(func(context.Context, netip.Addr) (record.Endpoint, error) {
			return record.Endpoint{Device: "eth0", Driver: "fake", MTU: 1500}, nil
		}),
		sampler.MethodCondition: agent.Typed(func(context.Context, sampler.Condition) (string, error) { return "", nil }),
		sampler.MethodRoute:     agent.Typed(func(context.Context, netip.Addr) (string, error) { return "dev eth0", nil }),
		sampler.MethodAnswer: agent.Typed(func(ctx context.Context, _ sampler.Answer) (struct{}, error) {
			<-ctx.Done()
			return struct{}{}, nil
		}),
		sampler.MethodGreet: agent.Typed(func(context.Context, sampler.Greet) (sampler.Greeted, error) {
			return sampler.Greeted{Answered: true}, nil
		}),
		sampler.MethodCounters: func(context.Context, json.RawMessage) (any, error) {
			return map[string]uint64{"TcpRetransSegs": 0}, nil
		},
	}
	maps.Copy(handlers, also)
	go func() {
		defer close(a.done)
		defer out.w.Close()
		agent.Serve(context.Background(), in.r, out.w, handlers)
	}()
	return a, nil
}

type pipe struct {
	r *io.PipeReader
	w *io.PipeWriter
}

type goAgent struct {
	in, out *pipe
	done    chan struct{}
}

func (*goAgent) PID() int { return 0 }

func (a *goAgent) Stdin() io.WriteCloser { return a.in.w }

func (a *goAgent) Stdout() io.Reader { return a.out.r }

func (*goAgent) Stderr() string { return "" }

func (a *goAgent) Wait() error { <-a.done; return nil }

func (a *goAgent) Kill() error { a.in.w.Close(); <-a.done; return nil }
