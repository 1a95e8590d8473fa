package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// FieldError is a fault of a suite. Its text is one line.
type FieldError struct {
	At    string // "file:line:column"; empty where the suite was not read from a file
	Field string // such as "min_rounds" or "workloads[1].window"; empty for a fault of the text itself
	Text  string // what is wrong; what would fix it
}

func (e *FieldError) Error() string {
	var parts []string
	for _, p := range []string{e.At, e.Field, e.Text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Flag is the flag that says the same as the field, such as "--min-rounds" or
// "--window". It is empty where Field is.
func (e *FieldError) Flag() string {
	name := e.Field
	if list, option, ok := strings.Cut(name, "]."); ok && option != "name" {
		name = option
	} else {
		name = list
	}
	name, _, _ = strings.Cut(name, "[")
	name, _, _ = strings.Cut(name, ".")
	if name == "" {
		return ""
	}
	return "--" + strings.ReplaceAll(name, "_", "-")
}

// written reports whether a suite file gave the field a value.
func (s Suite) written(field string) bool {
	_, ok := s.at[field]
	return ok
}

// fault is a fault of a field, at the place where the field was written.
func (s Suite) fault(field, format string, args ...any) error {
	e := &FieldError{At: s.at[field], Field: field, Text: fmt.Sprintf(format, args...)}
	if base, _, ok := strings.Cut(field, "["); ok && e.At == "" {
		e.At = s.at[base]
	}
	if e.At == "" && s.file != "" {
		e.At = s.file + ":1:1"
	}
	return e
}

// outside is the fault of a number that is not from the least to the most that it can be; what goes behind it
// says that. There is none of others.
func (s Suite) outside(field string, n, least, most int, what string) error {
	if n < least || n > most {
		return s.fault(field, "%d %s; write a number from %d to %d", n, what, least, most)
	}
	return nil
}

// eachOutside is that of the first number of a list.
func (s Suite) eachOutside(field string, numbers []int, least, most int, what string) error {
	for i, n := range numbers {
		if err := s.outside(s.item(field, i, len(numbers)), n, least, most, what); err != nil {
			return err
		}
	}
	return nil
}

// faultOfEither is a fault of two fields that contradict each other: that of the
// first, unless only the second was written.
func (s Suite) faultOfEither(first, second, format string, args ...any) error {
	if !s.written(first) && s.written(second) {
		first = second
	}
	return s.fault(first, format, args...)
}

// unknown is the fault of a field that names something unknown. The kind is in
// the singular; nettoll list takes its plural.
func (s Suite) unknown(field, kind, name string, known []string) error {
	where := "nettoll list " + kind + "s"
	return s.fault(field, "unknown %s %q; %s", kind, name, listed(name, known, where))
}

// listed suggests the names that begin so, or the nearest one, and says where all of them can be seen.
func listed(name string, known []string, where string) string {
	if all := Variants(name, known); len(all) > 0 {
		return fmt.Sprintf("did you mean %s? %s shows all", anyOf(all), where)
	}
	if n, ok := Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q? %s shows all", n, where)
	}
	return where + " shows all"
}

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
	if n := len(names); n > most {
		return fmt.Sprintf("%s or another of %d", strings.Join(quoted[:most-1], ", "), n)
	}
	return either(quoted)
}

// either is a list for people: a, b or c.
func either(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// mean suggests the nearest name, or else what is to be done without one.
func mean(name string, known []string, otherwise string) string {
	if n, ok := Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return otherwise
}
