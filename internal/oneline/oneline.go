// Package oneline puts texts of several lines onto one, for errors and records, and writes numbers in them.
package oneline

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Errors puts errors onto one line that errors.Join has put onto a line each.
func Errors(text string) string { return strings.Join(lines(text), "; ") }

// Output puts onto one line what a program has written.
func Output(text string) string { return Last(text, len(text)) }

// Last does as Output with the last lines, as many as are given at most.
func Last(text string, most int) string {
	all := lines(text)
	return strings.Join(all[max(0, len(all)-most):], " | ")
}

// lines returns the lines of a text that are not blank, without the white space around them.
func lines(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range all {
		all[i] = strings.TrimSpace(line)
	}
	return slices.DeleteFunc(all, func(line string) bool { return line == "" })
}

// Words puts onto one line a message whose line breaks and columns mean nothing. Only words are left of it, and no
// characters that a terminal would act on.
func Words(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

// Number writes a number with so many significant digits or, if that is more, all digits before its point. It never has an
// exponent.
func Number(v float64, digits int) string {
	if math.Abs(v) >= math.Pow10(digits-1) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Cut returns a text, or the beginning of one that has more than so many characters.
func Cut(text string, most int) string {
	if all := []rune(text); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return text
}

// Shortened returns a function that makes names at most most letters long. Names that belong together often differ only at their
// ends: where cutting these would make two alike, long ones are cut in the middle, or else at their beginnings.
func Shortened(names []string, most int) func(name string) string {
	const shortest = 4 // letters of a name's end
	ways := []func(string) string{func(name string) string { return Cut(name, most) }}
	for tail := (most - 1) / 2; tail < most && most > shortest; tail += shortest {
		ways = append(ways, func(name string) string {
			letters := []rune(name)
			if len(letters) <= most {
				return name
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
