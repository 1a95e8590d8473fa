package dockerhost

import (
	"strings"
	"unicode"
)

// Unreachable says why an engine cannot be used, and what would fix it, in one
// line.
type Unreachable struct {
	Target Target // with no Host where none was found
	Reason string // "no such socket"
	Remedy string // "is dockerd running? …"
	Err    error  // what was seen; may be nil
}

// Error is one line, whatever others have put into it.
func (u *Unreachable) Error() string {
	at := " at "
	if u.Target.Host == "" {
		at = " of "
	}
	s := "docker engine" + at + u.Target.String() + ": " + u.Reason
	if u.Remedy != "" {
		s += "; " + u.Remedy
	}
	return s
}

// Unwrap gives what was seen.
func (u *Unreachable) Unwrap() error { return u.Err }

// longest is how much of a foreign text is shown, in letters.
const longest = 300

// oneLine makes a text that others wrote fit for a line of an error: no line
// breaks, nothing that a terminal would act on, and not endless.
func oneLine(text string) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	line := []rune(strings.Join(words, " "))
	if len(line) > longest {
		return string(line[:longest-1]) + "…"
	}
	return string(line)
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		if line := oneLine(lines[i]); line != "" {
			return line
		}
	}
	return ""
}

func quoted(text string) string { return `"` + oneLine(text) + `"` }
