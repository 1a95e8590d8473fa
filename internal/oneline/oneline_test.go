package oneline_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"nettoll/internal/oneline"
)

func TestLines(t *testing.T) {
	joined := errors.Join(errors.New("a  b"), errors.Join(errors.New("c"), errors.New("d"))).Error()
	for text, want := range map[string][3]string{
		"":                      {},
		joined:                  {"a  b; c; d", "a  b | c | d", "c | d"},
		"\n a\tb\r\n\n \nc\rd ": {"a\tb; c; d", "a\tb | c | d", "c | d"},
	} {
		if got := [3]string{oneline.Errors(text), oneline.Output(text), oneline.Last(text, 2)}; got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		" a\n\tb\r\n":            "a b",
		"\x1b[31mred\x1b[0m\x00": "[31mred [0m",
		"\u202eturned\u2028":     "turned",
		"bad \xff byte":          "bad \uFFFD byte",
	} {
		if got := oneline.Words(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for most, want := range map[int]string{2: "ä…", 3: "äöü"} {
		if got := oneline.Cut("äöü", most); got != want {
			t.Errorf("%d of äöü are %q, want %q", most, got, want)
		}
	}
}

// TestNamesStayApart: names that differ at their ends differ when they are shortened, too.
func TestNamesStayApart(t *testing.T) {
	for _, c := range []struct {
		names, want []string
	}{
		{[]string{"host", "bridge"}, []string{"host", "bridge"}},
		{[]string{"flannel-wireguard-go", "host"}, []string{"flannel-wireguar…", "host"}},
		{
			[]string{"docker:ovs-userspace-vxlan", "docker:ovs-userspace-geneve", "docker:bridge"},
			[]string{"docker:o…ce-vxlan", "docker:o…e-geneve", "docker:bridge"},
		},
		{[]string{"some-interface-with-one-of-many", "some-interface-with-two-of-many"}, []string{"some…-one-of-many", "some…-two-of-many"}},
	} {
		shorter := oneline.Shortened(c.names, 17)
		for i, name := range c.names {
			if got := shorter(name); got != c.want[i] || len([]rune(got)) > 17 {
				t.Errorf("%s is shortened to %s, want %s", name, got, c.want[i])
			}
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 3, "0"}, {0.24, 3, "0.24"}, {0.5, 2, "0.5"}, {1.0 / 3, 3, "0.333"}, {0.00005, 3, "0.00005"}, {-0.25, 3, "-0.25"},
		{9.96, 2, "10"}, {99.6, 2, "100"}, {125.4, 2, "125"}, {99.96, 3, "100"}, {999.6, 3, "1000"}, {1234, 3, "1234"},
		{86400, 3, "86400"}, {4963.7, 4, "4964"}, {88e6, 4, "88000000"},
	} {
		if got := oneline.Number(tt.v, tt.digits); got != tt.want {
			t.Errorf("%v with %d digits is %q, want %q", tt.v, tt.digits, got, tt.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\x1b[2J", "\xff", strings.Repeat("x", 400), "a\r\n\u2028b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, one := range []func(string) string{oneline.Errors, oneline.Output, oneline.Words} {
			line := one(text)
			if strings.ContainsAny(line, "\r\n") || line != strings.TrimSpace(line) || one(line) != line {
				t.Errorf("%q becomes %q and then %q", text, line, one(line))
			}
		}
		if line := oneline.Words(text); !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q becomes %q", text, line)
		}
	})
}
