package plan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// FuzzLoad checks that no file makes Load panic or return an error of several lines, and that the suites it accepts
// can be expanded and put in order.
func FuzzLoad(f *testing.F) {
	for _, name := range Names() {
		text, err := os.ReadFile("suites/" + name + ".yaml")
		iferr.Fatal(f, err)
		f.Add(text)
	}
	for _, text := range []string{
		"networks: [bridge, 'docker:bridge']\nworkloads:\n- {name: tcp_rr, streams: 2}\n- name: tcp_stream\n  window: 1M\n",
		"networks: [all]\ntopologies: [1x1, 2x4x16]\nunderlay: [none, m4.10xlarge, 'D1:rate=1gbit']\nrules: [0, 10]\noffload: off\ntools: all\n",
		"networks: [veth]\nclients: [1, 2]\nprocesses: 4\nmtu: [1500, 9000]\nskips: [{network: x, reason: y}]\nas_published: {rounds: 1}\n",
		"networks: [bridge, 'swarm:macvlan', 'docker:all']\nplatform: docker\nhosts: [1, 2]\nbaseline: 'lab:macvlan'\n",
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
	fuzzReading(f, ParseUnderlay, "", "rate=1gbit,delay=1ms", "rate=1.5mibps", "delay=10us", "rate=,delay=", "m4.10xlarge", "A0:rate=5mbit", "none:delay=1ms")
}

// FuzzUnderlays checks that a list is parsed as its parts are.
func FuzzUnderlays(f *testing.F) {
	for _, text := range []string{"", "rate=1gbit,delay=1ms,rate=2gbit", "m4.large,none,A0:rate=5mbit,delay=1ms", "a,,b", "a:,="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseUnderlays(text)
		if err != nil {
			return
		}
		var texts []string
		for _, u := range all {
			if u == (Underlay{}) {
				texts = append(texts, unshaped)
			} else {
				texts = append(texts, u.String())
			}
		}
		joined := strings.Join(texts, ",")
		again, err := ParseUnderlays(joined)
		if err != nil || len(again) < 1 {
			t.Fatalf("%q is read as %q, which is refused: %v", text, joined, err)
		}
	})
}

func FuzzTopology(f *testing.F) {
	fuzzReading(f, ParseTopology, "1x1", "1x4x16", "0x10", "1X2×3", "x", "1x-1")
}

func FuzzBitRate(f *testing.F) { fuzzReading(f, ParseBitRate, "1G", "1.5m", "0", "400G", "1e3", "T") }

// fuzzReading checks that values can be read back as they are written, and that errors have one line.
func fuzzReading[T interface {
	comparable
	fmt.Stringer
}](f *testing.F, parse func(string) (T, error), texts ...string) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parse(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q", err)
			}
			return
		}
		if again, err := parse(v.String()); err != nil || again != v {
			t.Fatalf("%q is %+v, written %q, read again %+v, %v", text, v, v, again, err)
		}
	})
}
