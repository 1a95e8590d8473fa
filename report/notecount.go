package report

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nettoll/analysis"
)

// counts are what doubts say of how often they were seen, such as 9 of 10 trials. Merged ones say 1 to 5 of 8, or all
// of 9 to 10.
var counts = regexp.MustCompile(`\b(?:(\d+)(?: to (\d+))?|all) of (\d+)(?: to (\d+))? (trials|values|rounds|flows)\b`)

// noteKey is a doubt without its counts and amounts.
type noteKey struct{ code, text, advice string }

func keyOf(w analysis.Warning) noteKey {
	return noteKey{w.Code, amounts.ReplaceAllString(counts.ReplaceAllString(w.Text, "# of # $5"), "#$3"), w.Advice}
}

// counted is one count: how many, of how many.
type counted struct {
	least, most     int
	ofLeast, ofMost int
	all             bool // each time as many as there are
}

func parseCount(m []string) counted {
	number := func(texts ...string) int {
		for _, s := range texts {
			if v, err := strconv.Atoi(s); err == nil {
				return v
			}
		}
		return 0
	}
	c := counted{least: number(m[1], m[3]), most: number(m[2], m[1], m[4], m[3]), ofLeast: number(m[3]), ofMost: number(m[4], m[3])}
	c.all = m[1] == "" || c.least == c.ofLeast && c.least == c.most && c.ofLeast == c.ofMost
	return c
}

func (c counted) with(d counted) counted {
	return counted{min(c.least, d.least), max(c.most, d.most), min(c.ofLeast, d.ofLeast), max(c.ofMost, d.ofMost), c.all && d.all}
}

func (c counted) String() string {
	of := fromTo(c.ofLeast, c.ofMost)
	if c.all && c.ofLeast < c.ofMost {
		return "all of " + of
	}
	return fromTo(c.least, c.most) + " of " + of
}

func fromTo(least, most int) string {
	if least == most {
		return strconv.Itoa(least)
	}
	return strconv.Itoa(least) + " to " + strconv.Itoa(most)
}

// mergeCounts gives a text the counts of another one as well, from which it differs in nothing else.
func mergeCounts(text, other string) string {
	more := counts.FindAllStringSubmatch(other, -1)
	var b strings.Builder
	end := 0
	for i, at := range counts.FindAllStringSubmatchIndex(text, -1) {
		if i == len(more) {
			break
		}
		m := counts.FindStringSubmatch(text[at[0]:at[1]])
		b.WriteString(text[end:at[0]] + parseCount(m).with(parseCount(more[i])).String() + " " + m[5])
		end = at[1]
	}
	return b.String() + text[end:]
}

// amounts are sizes in doubts that are the same doubt whatever the size is.
var amounts = regexp.MustCompile(`(\d[\d.]*)(?: to (\d[\d.]*))?( CPU seconds a second of | bytes were still on their way| % of its CPU time in user space|%: the rest passed in slow ones)`)

// mergeAmounts gives a text the amounts of another one as well.
func mergeAmounts(text, other string) string {
	more := amounts.FindAllStringSubmatch(other, -1)
	i := -1
	return amounts.ReplaceAllStringFunc(text, func(part string) string {
		m := amounts.FindStringSubmatch(part)
		if i++; i == len(more) {
			return part
		}
		all := slices.DeleteFunc([]string{m[1], m[2], more[i][1], more[i][2]}, func(s string) bool { return s == "" })
		slices.SortFunc(all, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return cmp.Compare(x, y)
		})
		if least, most := all[0], all[len(all)-1]; least != most {
			return least + " to " + most + m[3]
		}
		return part
	})
}
