package plan

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzLoad shows that no file makes Load panic or write an error of several
// lines, and that what it takes can be expanded and put in order.
func FuzzLoad(f *testing.F) {
	for _, name := range Names() {
		text, err := os.ReadFile("suites/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"networks: [bridge, 'docker:bridge']\nworkloads:\n- {name: tcp_rr, streams: 2}\n- name: tcp_stream\n  window: 1M\n",
		"networks: [all]\nunderlay: rate=1gbit,delay=1ms\nservers: 2\nclients: 4000\n",
		"a: &a [x]\nb: *a\n", "? a\n: b\n", "- - - -\n", "{[", "|\n  x\n", "\"\\x\"", "---\n...\n", "%TAG ! x\n", "networks: !!a\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Load("x.yaml", bytes.NewReader(text))
		if err != nil {
			var field *FieldError
			if !errors.As(err, &field) || !strings.HasPrefix(field.At, "x.yaml:") || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%T %q", err, err)
			}
			return
		}
		cells, err := Expand(s, drivers())
		if err != nil {
			return
		}
		n := 0
		for _, v := range Visits(cells, 1, s.Seed) {
			n += len(v.Cells)
		}
		if n != len(cells) || n == 0 {
			t.Fatalf("%d of %d cells are visited", n, len(cells))
		}
		seen := make(map[string]bool)
		for _, c := range cells {
			if seen[c.Key()] {
				t.Fatalf("%s is there twice", c.Key())
			}
			seen[c.Key()] = true
		}
	})
}

func FuzzUnderlay(f *testing.F) {
	for _, text := range []string{"", "rate=1gbit,delay=1ms", "rate=1.5mibps", "delay=10us", "rate=,delay="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseUnderlay(text)
		if err != nil {
			return
		}
		again, err := ParseUnderlay(u.String())
		if err != nil || again != u {
			t.Fatalf("%q is %+v, written %q, read again %+v, %v", text, u, u, again, err)
		}
	})
}
