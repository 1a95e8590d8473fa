package plan

import (
	"fmt"
	"math"
	"strings"
)

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

// Set makes a rate usable as a flag.
func (b *BitRate) Set(text string) (err error) {
	*b, err = ParseBitRate(text)
	return err
}

// Type names the value in the help of a flag.
func (*BitRate) Type() string { return "bit/s" }
