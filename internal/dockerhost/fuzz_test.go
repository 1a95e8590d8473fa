package dockerhost

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzOneLine(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\x1b[2J", "\xff", strings.Repeat("x", 400), "a\r\n\u2028b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range []string{oneLine(text), lastLine(text)} {
			if !utf8.ValidString(line) || utf8.RuneCountInString(line) > longest || line != strings.TrimSpace(line) ||
				strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q becomes %q", text, line)
			}
			if again := oneLine(line); again != line {
				t.Errorf("%q becomes %q and then %q", text, line, again)
			}
		}
	})
}

// FuzzAddress: whatever is written as an address is one that can be used, or is
// refused in one line.
func FuzzAddress(f *testing.F) {
	for _, address := range []string{"", "unix:///s", "tcp://h:1", "ssh://me:secret@h", "h:1", "[::1]:", "/s", "://", "tcp://h/p", "a@b:c"} {
		f.Add(address)
	}
	dir := clean(f)
	f.Fuzz(func(t *testing.T, address string) {
		target, err := dir.byAddress(address, flag)
		if err != nil {
			if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || !strings.HasPrefix(text, "docker engine ") {
				t.Errorf("%q is refused with %q", address, text)
			}
			return
		}
		switch target.scheme() {
		case "unix", "tcp", "ssh":
		default:
			t.Errorf("%q is %v", address, target)
		}
		_, client, err := prepare(target)
		if err == nil && client == nil {
			t.Errorf("%q: no client and no error", address)
		}
		_, _ = target.MayBeLocal(), target.String()
	})
}
