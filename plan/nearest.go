package plan

import (
	"fmt"

	"github.com/agnivade/levenshtein"
)

// Nearest finds the known name that was probably meant. It finds none where
// more than a third of the letters would have to change. Of equally near names
// it is the first.
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
		limit := max(1, max(len(name), len(k))/3)
		if d <= limit && d < len(name) && (best == "" || d < found) {
			best, found = k, d
		}
	}
	return best, best != ""
}

// mean suggests the nearest name, or else what is to be done without one.
func mean(name string, known []string, otherwise string) string {
	if n, ok := Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return otherwise
}
