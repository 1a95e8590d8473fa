package remote

import (
	"io"
	"sync"
)

// buffer passes what is written to it on to a pipe, and keeps what nobody has read yet: what a process wrote before its
// end can be read after it.
type buffer struct {
	w *io.PipeWriter

	mu    sync.Mutex
	kept  []byte
	over  bool
	err   error
	ready *sync.Cond // there is something to pass on, or nothing more comes
}

func newBuffer(w *io.PipeWriter) *buffer {
	b := &buffer{w: w}
	b.ready = sync.NewCond(&b.mu)
	return b
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p...)
	b.ready.Signal()
	return len(p), nil
}

// end notes that nothing more comes, because of err if it is not nil.
func (b *buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.err = true, err
	b.ready.Signal()
}

// pass passes everything on until the end.
func (b *buffer) pass() {
	for {
		b.mu.Lock()
		for len(b.kept) == 0 && !b.over {
			b.ready.Wait()
		}
		part, err := b.kept, b.err
		b.kept = nil
		b.mu.Unlock()
		if len(part) == 0 {
			b.w.CloseWithError(err) // nil is io.EOF
			return
		}
		if _, err := b.w.Write(part); err != nil {
			return // nobody reads any more
		}
	}
}
