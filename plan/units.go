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
	number, unit := suffixed(text, "ib", "b"), 1.0
	if n := len(number) - 1; n > 0 {
		if i := strings.IndexByte("kmgt", number[n]|0x20); i >= 0 {
			number, unit = number[:n], float64(int(1024)<<(10*i))
		}
	}
	v, ok := decimal(number, 0)
	v *= unit
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

// suffixed is a number without the name of its unit, in either case, if one is there.
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

// Set reads a size out of a suite or a flag.
func (s *Size) Set(text string) (err error) {
	*s, err = ParseSize(text)
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

// meant is a hint at the percent that somebody meant who wrote the number alone.
func (r Ratio) meant() string {
	if r <= 1 || r >= 100 {
		return ""
	}
	return fmt.Sprintf("did you mean %s%%? ", strconv.FormatFloat(float64(r), 'f', -1, 64))
}

// Set reads a ratio out of a suite or a flag.
func (r *Ratio) Set(text string) (err error) {
	*r, err = ParseRatio(text)
	return err
}

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

// ParseDuration reads a length of time as flags have it: 300ms, 2m, or seconds, as iperf3 has
// them. In files lengths have their unit, so that nobody needs to know which one is meant.
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

// BitRate is a number of bits a second. It is written as iperf3 writes -b: K, M,
// G and T are powers of 1000, in either case, and the name of the unit may follow.
type BitRate int

// ParseBitRate reads a rate such as 100M, 1.5G or 1Gbit.
func ParseBitRate(text string) (BitRate, error) {
	number, exponent := suffixed(text, "bits/s", "bit/s", "bits", "bit"), 0
	if n := len(number) - 1; n > 0 {
		if i := strings.IndexByte("kmgt", number[n]|0x20); i >= 0 {
			number, exponent = number[:n], 3*(i+1)
		}
	}
	v, ok := decimal(number, exponent)
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

// String writes the rate as ParseBitRate reads it.
func (b BitRate) String() string { return inThousands(b, "", "K", "M", "G", "T") }

// Set reads a rate out of a suite or a flag.
func (b *BitRate) Set(text string) (err error) {
	*b, err = ParseBitRate(text)
	return err
}
