package report

import (
	"bytes"
	"io"
)

// seenWriter hands on what is written to it, line by line, with every character as one that can be seen: names must
// not turn what stands beside them. A page of thousands of trials is never in memory as a whole.
type seenWriter struct {
	to   io.Writer
	held []byte
}

// seenAtOnce is how many bytes are held until they are handed on.
const seenAtOnce = 1 << 16

func (s *seenWriter) Write(text []byte) (int, error) {
	s.held = append(s.held, text...)
	if len(s.held) < seenAtOnce {
		return len(text), nil
	}
	return len(text), s.pass(bytes.LastIndexByte(s.held, '\n') + 1)
}

// Flush hands on what is held.
func (s *seenWriter) Flush() error { return s.pass(len(s.held)) }

func (s *seenWriter) pass(n int) error {
	_, err := s.to.Write(bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return seen(r)
	}, s.held[:n]))
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}
