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
