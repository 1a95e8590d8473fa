package report

import (
	"math"
	"strconv"
	"strings"

	"nettoll/analysis"
	"nettoll/record"
)

// scale turns base units into the unit that people read.
type scale struct {
	factor float64 // base units in one unit
	unit   string
	whole  bool // counted, not measured
	fixed  int  // digits behind the point, where they are the same for all values
}

type prefix struct {
	factor float64
	name   string
}

var (
	bigPrefixes   = []prefix{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
	smallPrefixes = []prefix{{1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}
)

// scaleFor chooses the unit in which the reference value has one to three
// digits before the point.
func scaleFor(kind record.Kind, reference float64) scale {
	switch kind.Unit {
	case "bit/s":
		return prefixed(bigPrefixes, reference, "bit/s")
	case "ratio":
		return scaleForRatio(kind)
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

// scaleForRatio writes what is lost as a percentage, and an index, of which 1 is
// the best, as it is.
func scaleForRatio(kind record.Kind) scale {
	if kind.Better == record.HigherIsBetter {
		return scale{factor: 1, fixed: 2}
	}
	return scale{factor: 0.01, unit: "%"}
}

func prefixed(prefixes []prefix, reference float64, unit string) scale {
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

// number writes a value without its unit, to three significant digits.
func (s scale) number(v float64) string {
	v /= s.factor
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

// of writes a value with its unit.
func (s scale) of(v float64) string {
	switch s.unit {
	case "":
		return s.number(v)
	case "%":
		return s.number(v) + "%"
	}
	return s.number(v) + "\u00a0" + s.unit
}

// decimalsFor gives so many significant digits, up to a millionth.
func decimalsFor(v float64, digits int) int {
	if v == 0 {
		return 0
	}
	// 9.996 rounded to three digits has as many before the point as 10.
	_, written, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	exponent, err := strconv.Atoi(written)
	if err != nil {
		return 0
	}
	return min(max(digits-1-exponent, 0), 6)
}

// quantity writes one value in the unit that suits it.
func quantity(kind record.Kind, v float64) string {
	return scaleFor(kind, v).of(v)
}

// roughly writes one value to two digits, for a sentence.
func roughly(kind record.Kind, v float64) string {
	s := scaleFor(kind, v)
	return strconv.FormatFloat(v/s.factor, 'f', decimalsFor(v/s.factor, 2), 64) + "\u00a0" + s.unit
}

// plusMinus is the greater half of the interval, relative to the middle.
func plusMinus(s analysis.Summary) string {
	if s.Level == 0 {
		return "±?"
	}
	if s.Median == 0 {
		return "±0%"
	}
	return "±" + percent(math.Max(s.High-s.Median, s.Median-s.Low)/s.Median)
}

// percent writes the share of a whole. What is not zero is never written as zero.
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

// change writes a ratio as what it adds or takes away, from ten times on as a factor.
func change(c analysis.Comparison) string {
	if c.Verdict == analysis.Indistinguishable {
		return "~"
	}
	if c.Ratio >= 10 {
		return factor(c.Ratio)
	}
	sign := "+"
	if c.Ratio < 1 {
		sign = "−"
	}
	return sign + percentTo(c.Ratio-1, changeDecimals(c))
}

// changePlusMinus is the greater half of the ratio's interval: of native where
// change is a percentage, of the factor where it is one.
func changePlusMinus(c analysis.Comparison) string {
	if c.Level == 0 {
		return "±?"
	}
	if lopsided(c) {
		return "−" + percent(c.Ratio-c.Low) + "/+" + percent(c.High-c.Ratio)
	}
	half := halfWidth(c)
	if c.Ratio >= 10 && c.Verdict != analysis.Indistinguishable {
		return "±" + percent(half/c.Ratio)
	}
	if d := changeDecimals(c); d > 0 {
		return "±" + percentTo(half, d)
	}
	return "±" + percent(half)
}

// lopsided reports whether a difference was found although the greater half of its
// interval, on both sides, would reach native: ± would look like a contradiction.
func lopsided(c analysis.Comparison) bool {
	return c.Verdict != analysis.Indistinguishable && c.Ratio < 10 && halfWidth(c) >= math.Abs(c.Ratio-1)
}

func halfWidth(c analysis.Comparison) float64 { return math.Max(c.High-c.Ratio, c.Ratio-c.Low) }

// changeDecimals gives one decimal where whole percents would say nothing: next
// to native, and where next to nothing of native is left.
func changeDecimals(c analysis.Comparison) int {
	if c.Verdict != analysis.Indistinguishable && (math.Abs(c.Ratio-1) < 0.0095 || c.Ratio < 0.0995) {
		return 1
	}
	return 0
}

func percentTo(share float64, decimals int) string {
	return strconv.FormatFloat(math.Abs(share)*100, 'f', decimals, 64) + "%"
}

func factor(ratio float64) string {
	decimals := 1
	if ratio >= 10 {
		decimals = 0
	}
	if ratio < 0.95 {
		decimals = 2
	}
	return strconv.FormatFloat(ratio, 'f', decimals, 64) + "×"
}

// byteCount writes a count of bytes with an SI prefix.
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
