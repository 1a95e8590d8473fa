package process

import (
	"strings"
	"sync"
)

// Tail keeps the last lines of what is written to it. The zero value is ready.
type Tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 2 << 10 // bytes

// Write implements io.Writer; it never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if extra := len(t.b) - tailSize; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(b), nil
}

// String is what was kept, without blanks around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
