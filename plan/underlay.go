package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Underlay is the shape of each host's link to the others. Zero is unshaped.
type Underlay struct {
	Instance string        // whose network it imitates; the rate may be left to Known.Shape
	Rate     uint64        // bit/s that a host can send
	Delay    time.Duration // that a packet from a host takes longer; whole microseconds
}

// Limits of a shape, within which the kernel's token bucket and delay queue
// count without overflow.
const (
	minRate  = 10_000          // bit/s
	maxRate  = 400_000_000_000 // bit/s
	maxDelay = 10 * time.Second
)

// unit is the name of one behind a number, in lower case, and what that stands for.
type unit struct {
	name  string
	ten   int // power
	times float64
}

// rateUnits are those of tc in bit/s, the longest first: the last letters of a name are names themselves.
var rateUnits = []unit{
	{"kibit", 0, 1 << 10}, {"mibit", 0, 1 << 20}, {"gibit", 0, 1 << 30}, {"tibit", 0, 1 << 40},
	{"kibps", 0, 8 << 10}, {"mibps", 0, 8 << 20}, {"gibps", 0, 8 << 30}, {"tibps", 0, 8 << 40},
	{"kbit", 3, 1}, {"mbit", 6, 1}, {"gbit", 9, 1}, {"tbit", 12, 1},
	{"kbps", 3, 8}, {"mbps", 6, 8}, {"gbps", 9, 8}, {"tbps", 12, 8},
	{"bit", 0, 1}, {"bps", 0, 8},
}

// delayUnits are those of tc in nanoseconds.
var delayUnits = []unit{
	{"msecs", 6, 1}, {"usecs", 3, 1}, {"nsecs", 0, 1}, {"msec", 6, 1}, {"usec", 3, 1}, {"nsec", 0, 1},
	{"secs", 9, 1}, {"sec", 9, 1}, {"ms", 6, 1}, {"us", 3, 1}, {"ns", 0, 1}, {"s", 9, 1},
}

// readIn reads a number with one of the units behind it, if that makes a whole number.
func readIn(text string, units []unit) (uint64, bool) {
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.ToLower(text), u.name)
		if !ok {
			continue
		}
		v, ok := decimal(number, u.ten)
		v *= u.times
		return uint64(v), ok && v == math.Trunc(v) && v <= 1<<53
	}
	return 0, false
}

// unshaped is how people write the zero Underlay.
const unshaped = "none"

// ParseUnderlay reads a shape such as rate=1G,delay=1ms, the name of an
// instance such as m4.10xlarge, or both, as m4.10xlarge:rate=10G. Rates are written as
// BitRate is, or as tc(8) writes them: mbit is 10^6 bit/s, mibit is 2^20 bit/s, and mbps
// is 10^6 bytes a second. Empty and none are unshaped.
func ParseUnderlay(text string) (Underlay, error) {
	var u Underlay
	if text == "" || text == unshaped {
		return u, nil
	}
	name, shape, both := strings.Cut(text, ":")
	switch {
	case both && !isInstance(name):
		return u, fmt.Errorf("%q is not the name of an instance; write for example m4.large:rate=1G", name)
	case both:
		u.Instance, text = name, shape
	case isInstance(name) && !isShapeKey(name):
		return Underlay{Instance: name}, nil
	}
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[key] {
			return Underlay{}, fmt.Errorf("%s is given twice; write it once", key)
		}
		seen[key] = true
		var err error
		switch key {
		case "rate":
			u.Rate, err = parseRate(value)
		case "delay":
			u.Delay, err = parseDelay(value)
		default:
			err = fmt.Errorf("%q is not part of a shape; write for example rate=1G,delay=1ms", part)
		}
		if err != nil {
			return Underlay{}, err
		}
	}
	return u, u.check()
}

func isShapeKey(text string) bool { return text == "rate" || text == "delay" }

// ParseUnderlays reads several, as a flag has them: a comma ends a shape where the
// next part cannot belong to it, as in rate=1gbit,rate=10gbit or in
// m4.large,none,rate=1gbit,delay=1ms.
func ParseUnderlays(text string) ([]Underlay, error) {
	var texts []string
	seen := make(map[string]bool) // keys of the last text
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		_, shape, named := strings.Cut(part, ":")
		if !named {
			shape = part
		}
		key, _, pair := strings.Cut(shape, "=")
		if n := len(texts) - 1; n >= 0 && pair && !named && len(seen) > 0 && !seen[key] {
			texts[n] += "," + part
		} else {
			texts = append(texts, part)
			clear(seen)
		}
		if pair {
			seen[key] = true
		}
	}
	var all []Underlay
	for _, t := range texts {
		u, err := ParseUnderlay(t)
		if err == nil && t == "" && len(texts) > 1 {
			err = fmt.Errorf("%q is not part of a shape; write for example rate=1G,delay=1ms", t)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// parseRate reads a rate as ParseBitRate does, or in the units of tc.
func parseRate(text string) (uint64, error) {
	rate, err := ParseBitRate(text)
	v, ok := uint64(rate), err == nil
	if !ok {
		v, ok = readIn(text, rateUnits)
	}
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is not a rate; write bit/s such as 100M or 1G, or as tc has them: 100mbit, 1gbit", text)
	case v == 0:
		return 0, errors.New("rate must be above zero; leave it out for a link without a limit")
	}
	return v, nil
}

// parseDelay reads a length of time as Go or tc has it. It needs a unit: a number alone is seconds
// to other flags, and microseconds to tc.
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

func (u Underlay) check() error {
	switch {
	case u.Rate != 0 && (u.Rate < minRate || u.Rate > maxRate):
		return fmt.Errorf("rate is %s; between %s and %s is possible", rateText(u.Rate), rateText(minRate), rateText(maxRate))
	case u.Delay < 0 || u.Delay > maxDelay:
		return fmt.Errorf("delay is %s; at most %s is possible", delayText(u.Delay), delayText(maxDelay))
	case u.Delay%time.Microsecond != 0:
		return fmt.Errorf("delay is %s; the kernel counts it in whole microseconds", delayText(u.Delay))
	}
	return nil
}

// String writes the shape as ParseUnderlay reads it. Equal shapes have equal texts.
func (u Underlay) String() string {
	var parts []string
	if u.Rate != 0 {
		parts = append(parts, "rate="+rateText(u.Rate))
	}
	if u.Delay != 0 {
		parts = append(parts, "delay="+delayText(u.Delay))
	}
	text := strings.Join(parts, ",")
	if u.Instance == "" || text == "" {
		return u.Instance + text
	}
	return u.Instance + ":" + text
}

func rateText(v uint64) string         { return inThousands(v, "bit", "kbit", "mbit", "gbit") }
func delayText(d time.Duration) string { return inThousands(d, "ns", "us", "ms", "s") }

// inThousands writes a number in the largest of some units in which it is whole, each a thousand of the one before.
func inThousands[T uint64 | time.Duration | BitRate](v T, units ...string) string {
	unit := 0
	for unit < len(units)-1 && v != 0 && v%1000 == 0 {
		v, unit = v/1000, unit+1
	}
	return strconv.FormatInt(int64(v), 10) + units[unit]
}

// Set reads a shape out of a suite or a flag.
func (u *Underlay) Set(text string) (err error) {
	*u, err = ParseUnderlay(text)
	return err
}

// Instance is a type of machine for hire, whose network an underlay imitates.
type Instance struct {
	Provider string
	Name     string
	Price    float64 // dollars an hour
	Network  string  // as advertised
	Rate     uint64  // bit/s that a link is shaped to; 0 where the advertisement is no number
}

// Shape gives an underlay that names an instance the rate of that instance,
// unless it has one. One that names none stays as it is.
func (k Known) Shape(u Underlay) (Underlay, error) {
	if u.Instance == "" {
		return u, nil
	}
	if i, ok := first(k.Instances, func(i Instance) bool { return strings.EqualFold(i.Name, u.Instance) }); ok {
		u.Instance, u.Rate = i.Name, cmp.Or(u.Rate, i.Rate)
		if u.Rate == 0 {
			return u, &unknownRate{i}
		}
		return u, u.check()
	}
	if u.Rate != 0 { // a machine of the user's own
		return u, nil
	}
	var names []string
	for _, i := range k.Instances {
		names = append(names, i.Name)
	}
	return u, fmt.Errorf("unknown instance %q; %s, or write its rate, such as %s:rate=1gbit",
		u.Instance, listed(u.Instance, names, "nettoll list instances"), u.Instance)
}

// unknownRate is the fault of an instance whose network is advertised without a
// number.
type unknownRate struct{ Instance }

func (e *unknownRate) Error() string {
	return fmt.Sprintf("the network of %s is advertised as %q, which is not a rate; write the one it has, such as %s:rate=1gbit", e.Name, e.Network, e.Name)
}

// isInstance reports whether the text could name an instance: a letter, then
// letters, digits and signs.
func isInstance(text string) bool {
	const (
		letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		longest = 64
	)
	return text != "" && len(text) <= longest && strings.Contains(letters, text[:1]) &&
		strings.Trim(text, letters+"0123456789-_.") == ""
}
