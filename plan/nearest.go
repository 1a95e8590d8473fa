package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest finds the known name that was probably meant. It finds none where
// more than a third of the letters would have to change; two neighbours that have
// changed places are one change. Of equally near names it is the first.
func Nearest(name string, known []string) (string, bool) {
	const longest = 64 // bytes; what is longer is no mistyped name
	if name == "" || len(name) > longest {
		return "", false
	}
	best, found := "", 0
	for _, k := range known {
		if k == "" || len(k) > longest {
			continue
		}
		d := levenshtein.ComputeDistance(name, k)
		if swapped(name, k) {
			d = 1
		}
		limit := max(1, max(len(name), len(k))/3)
		if d <= limit && d < len(name) && (best == "" || d < found) {
			best, found = k, d
		}
	}
	return best, best != ""
}

// swapped reports whether two names differ in two neighbouring letters that have changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) || a == b {
		return false
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// Variants are the known names that begin with a name and go on behind a hyphen.
func Variants(name string, known []string) (all []string) {
	for _, k := range known {
		if name != "" && strings.HasPrefix(k, name+"-") {
			all = append(all, k)
		}
	}
	return all
}

// anyOf names a few of several names.
func anyOf(names []string) string {
	const most = 4
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	switch n := len(names); {
	case n > most:
		return fmt.Sprintf("%s or another of %d", strings.Join(quoted[:most-1], ", "), n)
	case n > 1:
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return quoted[0]
}

// mean suggests the nearest name, or else what is to be done without one.
func mean(name string, known []string, otherwise string) string {
	if n, ok := Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return otherwise
}
