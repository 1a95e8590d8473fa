package plot

import (
	"strings"
	"unicode"

	"nettoll/internal/oneline"
	"nettoll/record"
)

// clip makes a text a single line of at most most letters. If there is no room it is empty.
func clip(s string, most int) string {
	if most < 1 {
		return ""
	}
	return oneline.Cut(strings.Map(func(r rune) rune {
		if r == '\u00a0' || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s), most)
}

// shortened returns a function that makes names single lines of at most most letters that stay apart.
func shortened(names []string, most int) func(name string) string {
	line := func(name string) string { return clip(name, len(name)) }
	shorter := oneline.Shortened(record.Each(names, line), most)
	return func(name string) string { return shorter(line(name)) }
}
