package daemon

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// lines keeps the last of those lines of a stream that are wanted.
type lines struct {
	mu   sync.Mutex
	part []byte // of a line that is not complete
	kept []string
}

const (
	mostLines   = 3
	longestLine = 300 // bytes
)

// split takes what was written.
func (l *lines) split(b []byte, want func(string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, b...)
	for {
		line, rest, complete := bytes.Cut(l.part, []byte("\n"))
		if !complete {
			if len(l.part) > longestLine { // an endless line is as good as its beginning
				l.part = l.part[:longestLine]
			}
			return
		}
		l.part = bytes.Clone(rest)
		text := strings.TrimSpace(string(line[:min(len(line), longestLine)]))
		if !want(text) || slices.Contains(l.kept, text) {
			continue
		}
		if l.kept = append(l.kept, text); len(l.kept) > mostLines {
			l.kept = l.kept[1:]
		}
	}
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.kept)
}
