package analysis

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// counts matches how often a doubt occurred, for example "9 of 10 trials". Merged doubts
// have "1 to 5 of 8" or "all of 9 to 10".
var counts = regexp.MustCompile(`\b(?:(\d+)(?: to (\d+))?|all) of (\d+)(?: to (\d+))? (trial|value|round|flow)s?\b`)

// measures matches numbers that may differ within one doubt.
var measures = regexp.MustCompile(`(\d[\d.]*)(?: to (\d[\d.]*))?( CPU seconds (?:a|per) second (?:of|during) | (?:bytes|KB) were still on their way| % of its CPU time in user space|%: the rest (?:passed|was spent) in slow ones| of the requested | packets crossed | segments per trial| CPUs\b|% \(standard deviation\)| broadcast, multicast or ping packets|% of the CPU time while | periods and had to wait| s without traffic| packets per second|, and [\d.]+% confidence needs )`)

// Shape returns the text of a doubt without its counts and measures: doubts of the same shape are one, whose numbers Merged gives as
// ranges.
func Shape(text string) string {
	return measures.ReplaceAllString(counts.ReplaceAllString(text, "# of # $5"), "#$3")
}

// Merged merges the counts and the measures of two texts of the same shape.
func Merged(text, other string) string {
	text = eachMerged(counts, text, other, func(a, b []string) string {
		of := fromTo(a[3], a[4], b[3], b[4])
		things := a[5] + "s"
		if of == "1" {
			things = a[5]
		}
		if everyTime(a) && everyTime(b) && strings.Contains(of, " ") {
			return "all of " + of + " " + things
		}
		how := func(m []string) []string { // the number of occurrences; "all" means the total
			if m[1] == "" {
				return m[3:5]
			}
			return m[1:3]
		}
		return fromTo(slices.Concat(how(a), how(b))...) + " of " + of + " " + things
	})
	return eachMerged(measures, text, other, func(a, b []string) string { return fromTo(a[1], a[2], b[1], b[2]) + a[3] })
}

// everyTime reports whether a count equals the total.
func everyTime(m []string) bool { return m[1] == "" || m[1] == m[3] && m[2] == "" && m[4] == "" }

// eachMerged replaces each match in a text by its merger with the corresponding match in another text.
func eachMerged(pattern *regexp.Regexp, text, other string, merge func(a, b []string) string) string {
	more := pattern.FindAllStringSubmatch(other, -1)
	i := -1
	return pattern.ReplaceAllStringFunc(text, func(part string) string {
		if i++; i >= len(more) {
			return part
		}
		return merge(pattern.FindStringSubmatch(part), more[i])
	})
}

// fromTo returns the range of some numbers, as written; empty strings are ignored.
func fromTo(numbers ...string) string {
	numbers = slices.DeleteFunc(numbers, func(s string) bool { return s == "" })
	slices.SortFunc(numbers, func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	})
	if least, most := numbers[0], numbers[len(numbers)-1]; least != most {
		return least + " to " + most
	}
	return numbers[0]
}
