package runner

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"nettoll/agent"
)

// hung is an agent that neither answers nor ends until it is killed.
type hung struct {
	in, out *io.PipeWriter
	answers *io.PipeReader
	kill    error
}

func newHung(kill error) *hung {
	_, in := io.Pipe()
	answers, out := io.Pipe()
	return &hung{in, out, answers, kill}
}

func (*hung) PID() int                { return 0 }
func (h *hung) Stdin() io.WriteCloser { return h.in }
func (h *hung) Stdout() io.Reader     { return h.answers }
func (*hung) Stderr() string          { return "" }
func (*hung) Wait() error             { return nil }
func (h *hung) Kill() error           { h.out.Close(); return h.kill }

// TestHungAgentIsKilled checks that a network is taken down in spite of an agent that hangs, unless it survives even that.
func TestHungAgentIsKilled(t *testing.T) {
	survives := errors.New("it did not end within 1m0s of being killed")
	for _, kill := range []error{nil, survives} {
		synctest.Test(t, func(t *testing.T) {
			all := agents{agentKey{}: {client: agent.Dial(newHung(kill))}}
			if err := all.close(); (err == nil) != (kill == nil) || err != nil && !strings.Contains(err.Error(), survives.Error()) {
				t.Errorf("%v, want %v", err, kill)
			}
		})
	}
}
