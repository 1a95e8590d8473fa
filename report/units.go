package report

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// scale converts base units to a unit for display.
type scale struct {
	factor float64 // base units in one unit
	unit   string
	whole  bool // counted, not measured
	fixed  int  // digits after the decimal point, if they are the same for all values
}

type prefix struct {
	factor float64
	name   string
}

var (
	bigPrefixes   = []prefix{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
	smallPrefixes = []prefix{{1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}
)

// scaleFor chooses the unit in which the reference value has one to three digits before the decimal point.
func scaleFor(kind record.Kind, reference float64) scale {
	switch kind.Unit {
	case "bit/s":
		return prefixed(bigPrefixes, reference, "bit/s")
	case "ratio":
		if kind.Better == record.HigherIsBetter { // an index with 1 as its best value is not scaled
			return scale{factor: 1, fixed: 2}
		}
		return scale{factor: 0.01, unit: "%"}
	case "1/s":
		if kind.Name == record.PacketRate {
			return prefixed(bigPrefixes, reference, "pps")
		}
		return prefixed(bigPrefixes, reference, "/s")
	case "s", "cpu-s":
		return prefixed(smallPrefixes, reference, "s")
	case "cpu-s/s":
		return scale{factor: 1, unit: "CPUs"}
	case "cpu-s/GB":
		return scale{factor: 1, unit: "s/GB"}
	}
	return scale{factor: 1, unit: kind.Unit, whole: kind.Unit == "segments"}
}

func prefixed(prefixes []prefix, reference float64, unit string) scale {
	reference = math.Abs(reference)
	chosen := prefixes[len(prefixes)-1]
	for _, p := range prefixes {
		// 0.9995 rounds to 1.00 in the greater unit.
		if reference >= 0.9995*p.factor {
			chosen = p
			break
		}
	}
	if reference == 0 {
		chosen = prefix{1, ""}
	}
	return scale{factor: chosen.factor, unit: chosen.name + unit}
}

// number formats a value without its unit, to three significant digits.
func (s scale) number(v float64) string {
	v /= s.factor
	if v < 0 {
		return "−" + s.number(-v*s.factor)
	}
	if s.whole {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if s.fixed > 0 {
		return strconv.FormatFloat(v, 'f', s.fixed, 64)
	}
	if s.unit == "%" {
		return strconv.FormatFloat(v, 'f', min(decimalsFor(v, 2), 4), 64)
	}
	return strconv.FormatFloat(v, 'f', decimalsFor(v, 3), 64)
}

// of formats a value with its unit.
func (s scale) of(v float64) string {
	switch s.unit {
	case "":
		return s.number(v)
	case "%":
		return s.number(v) + "%"
	}
	return s.number(v) + "\u00a0" + s.unit
}

// decimalsFor returns the number of decimals for the given number of significant digits, at most 6.
func decimalsFor(v float64, digits int) int {
	if v == 0 {
		return 0
	}
	// 9.996 rounded to three digits has as many digits before the decimal point as 10.
	_, written, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	exponent, err := strconv.Atoi(written)
	if err != nil {
		return 0
	}
	return min(max(digits-1-exponent, 0), 6)
}

// quantity formats one value in the unit that suits it.
func quantity(kind record.Kind, v float64) string {
	return scaleFor(kind, v).of(v)
}

// widest is the half width up to which ± describes an interval: wider ones extend much
// further up than down, since nothing is less than 0.
const widest = 0.5

// noSpread is shown if there are too few rounds for an interval.
const noSpread = "±?"

// spread returns the interval of a figure: its greater half, relative to the estimate, or
// its ends if it is wide, if the estimate is 0, or if the interval reaches below 0.
func spread(sc scale, s analysis.Summary) string {
	half := math.Max(s.High-s.Estimate, s.Estimate-s.Low) / s.Estimate
	switch {
	case s.Level == 0:
		return noSpread
	case s.Low == s.High:
		return "±0"
	case s.Estimate <= 0 || s.Low < 0 || half > widest:
		return sc.number(s.Low) + "…" + sc.number(s.High)
	}
	return "±" + percent(half)
}

// percent formats a share in whole percents. A share other than zero is never shown as zero: half widths of less are given as 1%.
func percent(share float64) string {
	p := math.Abs(share) * 100
	switch {
	case p == 0:
		return "0%"
	case p < 1:
		return "1%"
	default:
		return strconv.FormatFloat(p, 'f', 0, 64) + "%"
	}
}

// change returns how a table shows a comparison: the change from the baseline if the two are
// different, as a factor from ten times up, and otherwise a sign.
func change(c analysis.Comparison) string {
	if c.Value >= 10 {
		text, _ := factors(c)
		return cmp.Or(signs[c.Outcome], text)
	}
	return cmp.Or(signs[c.Outcome], signed(100*(c.Value-1), boundsDecimals(c))+"%")
}

// signs are shown for comparisons that are not different.
var signs = map[analysis.Outcome]string{analysis.Same: "=", analysis.NotKnown: "?", analysis.Untested: "untested"}

// bounds returns the ends of the interval of a change; empty if it was not tested.
func bounds(c analysis.Comparison) string {
	if c.Level == 0 {
		return ""
	}
	if c.Value >= 10 {
		_, ends := factors(c)
		return ends
	}
	decimals := boundsDecimals(c)
	return signed(100*(c.Low-1), decimals) + "…" + signed(100*(c.High-1), decimals) + "%"
}

// factors returns a ratio and the ends of its interval as factors.
func factors(c analysis.Comparison) (value, ends string) {
	value, ends = inRange(c.Value, c.Low, c.High, factorDecimals(c.Low))
	return value + "×", strings.Replace(ends, "–", "…", 1) + "×"
}

// boundsDecimals returns as many decimals as are needed to distinguish the ends of a change's interval, up to two. The change itself
// has as many: with fewer, it could be outside of its interval.
func boundsDecimals(c analysis.Comparison) int {
	least := changeDecimals(c)
	for decimals := least; c.Level > 0 && decimals <= 2; decimals++ {
		if signed(100*(c.Low-1), decimals) != signed(100*(c.High-1), decimals) {
			return decimals
		}
	}
	return least
}

// changeDecimals returns more decimals where whole percents are too coarse: if an end of the
// interval other than 0 would be shown as 0, and if almost nothing of the baseline is left, or may be, so that a share of it would
// be shown as none.
func changeDecimals(c analysis.Comparison) int {
	decimals := 0
	for _, v := range []float64{c.Low - 1, c.High - 1} {
		for decimals < 2 && v != 0 && math.Abs(v)*100*math.Pow10(decimals) < 0.5 {
			decimals++
		}
	}
	if c.Outcome == analysis.Different && c.High < 0.0995 {
		decimals = max(decimals, 1)
	}
	if c.Outcome == analysis.Different {
		for _, left := range []float64{c.Low, c.Value} {
			for decimals < 3 && left > 0 && 100*left < 0.5*math.Pow10(-decimals) { // it would be shown as -100 %
				decimals++
			}
		}
	}
	return decimals
}

// signed formats a number with its sign.
func signed(v float64, decimals int) string {
	return withSign(v, strconv.FormatFloat(math.Abs(v), 'f', decimals, 64))
}

// withSign gives text, the formatted size of v, the sign of v.
func withSign(v float64, text string) string {
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case v < 0:
		return "−" + text
	}
	return "+" + text
}

// differenceBounds returns the interval of a difference, with its unit.
func differenceBounds(sc scale, c analysis.Comparison) string {
	if c.Level == 0 {
		return ""
	}
	return differenceEnds(sc, c) + sc.differenceUnit()
}

func differenceEnds(sc scale, c analysis.Comparison) string {
	if c.Low == c.High {
		return sc.signed(c.Low)
	}
	return sc.signed(c.Low) + "…" + sc.signed(c.High)
}

// differenceUnit returns what follows a difference.
func (s scale) differenceUnit() string {
	switch s.unit {
	case "", "segments":
		return ""
	case "%":
		return "\u00a0pp" // percentage points
	}
	return "\u00a0" + s.unit
}

// signed formats a difference in the unit of the scale.
func (s scale) signed(v float64) string { return withSign(v, s.number(math.Abs(v))) }

// compared returns how a table shows a figure's comparison: the change, and the ends of its interval.
func compared(sc scale, f analysis.Figure) (shows, ends string, c *analysis.Comparison) {
	c = f.Comparison()
	switch {
	case c == nil:
		return "", "", nil
	case c.Minus && signs[c.Outcome] != "":
		return signs[c.Outcome], differenceBounds(sc, *c), c
	case c.Minus && c.Level == 0:
		return sc.signed(c.Value) + sc.differenceUnit(), "", c
	case c.Minus:
		return sc.signed(c.Value) + sc.differenceUnit(), differenceEnds(sc, *c), c // the ends are left out where there is no room
	}
	return change(*c), bounds(*c), c
}

// between formats a range of positive values followed by one unit, with as many decimals as
// are needed to distinguish its ends, up to two more.
func between(low, high float64, decimals int) string {
	if apart := 100.0; low > 0 && high > apart*low && decimals > 0 { // what suits one suits the other no more
		return strconv.FormatFloat(low, 'f', decimalsFor(low, 1), 64) + "–" + strconv.FormatFloat(high, 'f', decimalsFor(high, 2), 64)
	}
	for more := 0; ; more++ {
		a, b := strconv.FormatFloat(low, 'f', decimals+more, 64), strconv.FormatFloat(high, 'f', decimals+more, 64)
		switch {
		case a != b:
			return a + "–" + b
		case more == 2:
			return strconv.FormatFloat(low, 'f', decimals, 64)
		}
	}
}

// inRange formats a value and the range around it, both with as many decimals as between needs: with fewer, the value could be
// outside of the range.
func inRange(value, low, high float64, decimals int) (text, ends string) {
	ends = between(low, high, decimals)
	first, _, _ := strings.Cut(ends, "–")
	_, behind, _ := strings.Cut(first, ".")
	return strconv.FormatFloat(value, 'f', len(behind), 64), ends
}

// bareShare returns a share of the baseline without an interval.
func bareShare(share float64) string {
	return strconv.FormatFloat(math.Abs(share)*100, 'f', shareDecimals(share), 64) + "%"
}

func factor(ratio float64) string {
	return strconv.FormatFloat(ratio, 'f', factorDecimals(ratio), 64) + "×"
}

func factorDecimals(ratio float64) int {
	switch {
	case ratio >= 10:
		return 0
	case ratio < 0.95:
		return 2
	}
	return 1
}

// byteCount formats a number of bytes with an SI prefix.
func byteCount(n uint64) string {
	s := prefixed(bigPrefixes, float64(n), "B")
	s.whole = s.factor == 1
	return s.number(float64(n)) + "\u00a0" + s.unit
}

// count groups the digits of a whole number in threes.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
