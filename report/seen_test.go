package report

import (
	"fmt"
	"strings"
	"testing"
)

// TestSeenWriter writes pieces that end anywhere, in the middle of characters too.
func TestSeenWriter(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line %d: é €\t\u202e\xff\n", i)
	}
	text.WriteString("no newline \u2066")
	for _, size := range []int{1, 7, 1000, text.Len()} {
		var got strings.Builder
		w := seenWriter{to: &got}
		for rest := text.String(); rest != ""; {
			n := min(size, len(rest))
			if written, err := w.Write([]byte(rest[:n])); err != nil || written != n {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.SplitSeq(text.String(), "\n") {
			want = append(want, strings.Map(func(r rune) rune {
				if r == '\t' {
					return r
				}
				return seen(r)
			}, line))
		}
		if got.String() != strings.Join(want, "\n") {
			t.Errorf("pieces of %d bytes make another text", size)
		}
	}
}
