package plot

import (
	"strings"
	"unicode"
)

// clip makes a text a single line of at most most letters. If there is no room it is empty.
func clip(s string, most int) string {
	if most < 1 {
		return ""
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// shortened returns a function that makes names at most most letters long. The names of different networks of a chart often differ
// only at their ends: where cutting these would make two alike, long ones are cut in the middle, or else at their beginnings.
func shortened(names []string, most int) func(name string) string {
	const shortest = 4 // letters of a name's end
	ways := []func(string) string{func(name string) string { return clip(name, most) }}
	for tail := (most - 1) / 2; tail < most && most > shortest; tail += shortest {
		ways = append(ways, func(name string) string {
			letters := []rune(clip(name, len([]rune(name))))
			if len(letters) <= most {
				return string(letters)
			}
			return string(letters[:most-1-tail]) + "…" + string(letters[len(letters)-tail:])
		})
	}
	best, apart := ways[0], 0
	for _, way := range ways {
		different := map[string]bool{}
		for _, name := range names {
			different[way(name)] = true
		}
		if len(different) > apart {
			best, apart = way, len(different)
		}
	}
	return best
}
