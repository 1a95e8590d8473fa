package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes. It is written as iperf3 writes -l and -w: K, M, G and
// T are powers of 1024, in either case, and the name of the unit may follow.
type Size int

// ParseSize reads a size such as 128K, 128KB or 1460.
func ParseSize(text string) (Size, error) {
	v, ok := numberIn(suffixed(text, "ib", "b"), sizeUnits)
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is not a size; write bytes such as 1460, 128K or 1M", text)
	case v != math.Trunc(v):
		return 0, fmt.Errorf("%q is not a whole number of bytes; write bytes such as 1460, 128K or 1M", text)
	case v > 1<<40:
		return 0, fmt.Errorf("%q is more than any buffer; write bytes such as 1460, 128K or 1M", text)
	}
	return Size(v), nil
}

// suffixed returns the text without the name of its unit, in either case, if it has one.
func suffixed(text string, units ...string) string {
	for _, u := range units {
		if n := len(text) - len(u); n > 0 && strings.EqualFold(text[n:], u) {
			return text[:n]
		}
	}
	return text
}

// String writes the size as ParseSize reads it.
func (s Size) String() string {
	for i, unit := range "GMK" {
		if f := Size(1) << (30 - 10*i); s != 0 && s%f == 0 {
			return fmt.Sprintf("%d%c", s/f, unit)
		}
	}
	return strconv.Itoa(int(s))
}

// Set parses a size from a suite or a flag.
func (s *Size) Set(text string) error { return set(s, ParseSize, text) }

// set sets a value to what parse reads from a text, as flags and suites do.
func set[T any](to *T, parse func(text string) (T, error), text string) (err error) {
	*to, err = parse(text)
	return err
}

// Ratio is a share of one: 0.05 is 5 %.
type Ratio float64

// ParseRatio reads 5% or 0.05.
func ParseRatio(text string) (Ratio, error) {
	number, percent := strings.CutSuffix(text, "%")
	exponent := 0
	if percent {
		exponent = -2
	}
	v, ok := decimal(number, exponent)
	if !ok {
		return 0, fmt.Errorf("%q is not a share; write for example 5%% or 0.05", text)
	}
	return Ratio(v), nil
}

// String writes the ratio in percent, as ParseRatio reads it.
func (r Ratio) String() string {
	return strconv.FormatFloat(math.Round(float64(r)*1e8)/1e6, 'f', -1, 64) + "%"
}

// exactly writes the ratio with as many digits as it takes to read the same one: text is shorter, unless it is another ratio.
func (r Ratio) exactly() string {
	if again, err := ParseRatio(r.String()); err == nil && again == r {
		return r.String()
	}
	return strconv.FormatFloat(float64(r), 'f', -1, 64)
}

// meant suggests the percentage that was probably meant by someone who wrote the number without a percent sign, if it is between the
// two ratios.
func (r Ratio) meant(least, most Ratio) string {
	if r <= 1 || r/100 < least || r/100 >= most {
		return ""
	}
	return fmt.Sprintf("did you mean %s%%? ", strconv.FormatFloat(float64(r), 'f', -1, 64))
}

// Set parses a ratio from a suite or a flag.
func (r *Ratio) Set(text string) error { return set(r, ParseRatio, text) }

// decimal reads digits with at most one point among them, times ten to the
// exponent. It is stricter than strconv, which reads inf, 0x1p4 and 1e9 as well.
func decimal(text string, exponent int) (float64, bool) {
	whole, part, point := strings.Cut(text, ".")
	if whole == "" || point && part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text+"e"+strconv.Itoa(exponent), 64)
	return v, err == nil
}

// ParseDuration reads a length of time as flags accept it: 300ms, 2m, or a bare number of seconds, as in iperf3. In
// files a unit is required, so that readers need not know the default.
func ParseDuration(text string) (time.Duration, error) {
	if _, ok := decimal(strings.TrimPrefix(text, "-"), 0); ok {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("is not a length of time; write seconds, or a number and its unit, such as 10, 300ms or 2m")
	}
	return d, nil
}

// BitRate is a number of bits per second. It is written as iperf3 writes -b: K, M, G and T are powers of 1000, in
// either case, and the name of the unit may follow.
type BitRate int

// ParseBitRate reads a rate such as 100M, 1.5G or 1Gbit.
func ParseBitRate(text string) (BitRate, error) {
	v, ok := bitsPerSecond(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is not a bandwidth; write bit/s such as 100M or 1G", text)
	case v != math.Trunc(v):
		return 0, fmt.Errorf("%q is not a whole number of bit/s; write bit/s such as 100M or 1G", text)
	case v > maxRate:
		return 0, fmt.Errorf("%q is more than any link; write at most %s", text, BitRate(maxRate))
	}
	return BitRate(v), nil
}

// bitsPerSecond reads a rate, which need be neither whole nor possible.
func bitsPerSecond(text string) (float64, bool) {
	return numberIn(suffixed(text, "bits/s", "bit/s", "bits", "bit"), bitUnits)
}

// String writes the rate as ParseBitRate reads it.
func (b BitRate) String() string { return inThousands(b, "", "K", "M", "G", "T") }

// Set parses a rate from a suite or a flag.
func (b *BitRate) Set(text string) error { return set(b, ParseBitRate, text) }

// unit is a suffix of a number, in lower case, with its factor: 10^ten × times.
type unit struct {
	name  string
	ten   int // a power of ten
	times float64
}

// rateUnits are tc's units of rates, in bit/s. Longer names come first, since shorter ones are suffixes of them.
var rateUnits = []unit{
	{"kibit", 0, 1 << 10}, {"mibit", 0, 1 << 20}, {"gibit", 0, 1 << 30}, {"tibit", 0, 1 << 40},
	{"kibps", 0, 8 << 10}, {"mibps", 0, 8 << 20}, {"gibps", 0, 8 << 30}, {"tibps", 0, 8 << 40},
	{"kbit", 3, 1}, {"mbit", 6, 1}, {"gbit", 9, 1}, {"tbit", 12, 1},
	{"kbps", 3, 8}, {"mbps", 6, 8}, {"gbps", 9, 8}, {"tbps", 12, 8},
	{"bit", 0, 1}, {"bps", 0, 8},
}

// delayUnits are tc's units of time, in nanoseconds.
var delayUnits = []unit{
	{"msecs", 6, 1}, {"usecs", 3, 1}, {"nsecs", 0, 1}, {"msec", 6, 1}, {"usec", 3, 1}, {"nsec", 0, 1},
	{"secs", 9, 1}, {"sec", 9, 1}, {"ms", 6, 1}, {"us", 3, 1}, {"ns", 0, 1}, {"s", 9, 1},
}

// sizeUnits and bitUnits are iperf3's units.
var (
	sizeUnits = []unit{{"k", 0, 1 << 10}, {"m", 0, 1 << 20}, {"g", 0, 1 << 30}, {"t", 0, 1 << 40}, {"", 0, 1}}
	bitUnits  = []unit{{"k", 3, 1}, {"m", 6, 1}, {"g", 9, 1}, {"t", 12, 1}, {"", 0, 1}}
)

// numberIn reads a number followed by one of the units.
func numberIn(text string, units []unit) (float64, bool) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(strings.ToLower(text), u.name); ok {
			v, ok := decimal(number, u.ten)
			return v * u.times, ok
		}
	}
	return 0, false
}

// readIn is numberIn for whole numbers: it fails on any other.
func readIn(text string, units []unit) (uint64, bool) {
	v, ok := numberIn(text, units)
	return uint64(v), ok && v == math.Trunc(v) && v <= 1<<53
}

// parseRate reads a rate as ParseBitRate does, or in the units of tc.
func parseRate(text string) (uint64, error) {
	rate, err := ParseBitRate(text)
	v, ok := uint64(rate), err == nil
	if !ok {
		v, ok = readIn(text, rateUnits)
	}
	_, number := bitsPerSecond(text)
	switch {
	case !ok && number:
		return 0, err
	case !ok:
		return 0, fmt.Errorf("%q is not a rate; write bit/s such as 100M or 1G, or as tc has them: 100mbit, 1gbit", text)
	case v == 0:
		return 0, errors.New("rate must be above zero; leave it out for a link without a limit")
	}
	return v, nil
}

// parseDelay reads a length of time in Go's or tc's notation. A unit is required: a bare number is seconds for
// other flags, and microseconds for tc.
func parseDelay(text string) (time.Duration, error) {
	_, bare := decimal(text, 0)
	v, err := time.ParseDuration(text)
	if bare || err != nil || v < 0 {
		ns, ok := readIn(text, delayUnits)
		if v = time.Duration(ns); !ok {
			return 0, fmt.Errorf("%q is not a delay; write a number and its unit such as 500us or 1ms", text)
		}
	}
	if v == 0 {
		return 0, errors.New("delay must be above zero; leave it out for a link without one")
	}
	return v, nil
}

func rateText(v uint64) string         { return inThousands(v, "bit", "kbit", "mbit", "gbit") }
func delayText(d time.Duration) string { return inThousands(d, "ns", "us", "ms", "s") }

// inThousands writes a number in the largest of the units in which it is whole; each unit is a thousand times the
// one before.
func inThousands[T uint64 | time.Duration | BitRate](v T, units ...string) string {
	unit := 0
	for unit < len(units)-1 && v != 0 && v%1000 == 0 {
		v, unit = v/1000, unit+1
	}
	return strconv.FormatInt(int64(v), 10) + units[unit]
}
