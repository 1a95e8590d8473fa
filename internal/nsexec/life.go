package nsexec

import (
	"fmt"
	"io"
	"strings"

	"nettoll/internal/oneline"
)

// Life is what the processes of all platforms have in common: their standard streams, and how they ended. Together with
// a Kill it implements platform.Process.
type Life struct {
	ID     int            // of PID
	In     io.WriteCloser // nil if the command brought its own
	Out    io.ReadCloser  // nil if the command brought its own
	Errors Tail

	over chan struct{}
	err  error
}

// NewLife returns the life of a process that has not ended.
func NewLife() *Life { return &Life{over: make(chan struct{})} }

// End notes how the process ended; it is called once. It adds what Errors has, unless err ends with that already.
func (l *Life) End(err error) {
	if last := oneline.Output(l.Errors.String()); err != nil && last != "" && !strings.HasSuffix(err.Error(), last) {
		err = fmt.Errorf("%w: %s", err, last)
	}
	l.err = err
	close(l.over)
}

// Over is closed when the process has ended.
func (l *Life) Over() <-chan struct{} { return l.over }

// Ended reports whether the process has ended.
func (l *Life) Ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// PID implements platform.Process.
func (l *Life) PID() int { return l.ID }

// Stdin implements platform.Process.
func (l *Life) Stdin() io.WriteCloser { return l.In }

// Stdout implements platform.Process.
func (l *Life) Stdout() io.Reader {
	if l.Out == nil {
		return nil
	}
	return l.Out
}

// Stderr implements platform.Process.
func (l *Life) Stderr() string { return l.Errors.String() }

// Wait implements platform.Process.
func (l *Life) Wait() error {
	<-l.over
	return l.err
}
