package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/record"
)

// conditions returns every combination of the suite's underlays and other conditions, as cells in which nothing but these
// is set. The skips list the underlays that are left out.
func (s Suite) conditions(known Known) ([]record.Cell, []Skip, error) {
	underlays, skips, err := s.underlays(known)
	if err != nil {
		return nil, nil, err
	}
	all := crossed([]record.Cell{{}}, underlays, func(c *record.Cell, shape string) { c.Underlay = shape })
	for _, d := range record.Dimensions(record.Condition) {
		values := s.Conditions[d.Identifier()]
		if len(all)*len(values) > MaxCells {
			return nil, nil, s.fault(d.Identifier(), "there are more than %d ways to combine it with the other conditions; write fewer", MaxCells)
		}
		if len(values) > 0 {
			all = crossed(all, values, d.Set)
		}
	}
	return once(all), skips, nil
}

// checkTaken finds a condition that no network of the run takes.
func (s Suite) checkTaken(cells []record.Cell, known Known) error {
	for _, d := range record.Dimensions(record.Condition) {
		set := record.Those(cells, d.IsSet)
		if len(set) == 0 || slices.ContainsFunc(set, func(c record.Cell) bool { return d.TakenBy(known.kindOf(c.Network).Has) }) {
			continue
		}
		return s.fault(d.Identifier(), "no network of this run has %s; add one, such as %s", d.In, either(known.taking(d)))
	}
	return nil
}

// onHosts returns the conditions of that number of hosts. A single one has no link to others: its traffic would be recorded, and
// judged, as that of a link which it never crosses.
func onHosts(hosts int, conditions []record.Cell) []record.Cell {
	if hosts > 1 {
		return conditions
	}
	return once(record.Each(conditions, func(c record.Cell) record.Cell { c.Underlay = ""; return c }))
}

// checkLinks finds shapes of links that no cell has, since each is on one host.
func (s Suite) checkLinks(cells []record.Cell, known Known) error {
	shaped := func(c record.Cell) bool { return c.Underlay != "" }
	asked, _, err := s.conditions(known)
	if err != nil || !slices.ContainsFunc(asked, shaped) || slices.ContainsFunc(cells, shaped) {
		return err
	}
	return s.fault("underlay", "there is no link to shape, since every network of this run is on one host; change the number of hosts, add a network between hosts, such as native, or leave it out")
}

// crossed returns every combination of a cell and a value, which put sets.
func crossed[T any](cells []record.Cell, values []T, put func(*record.Cell, T)) (all []record.Cell) {
	for _, cell := range cells {
		for _, v := range values {
			c := cell
			put(&c, v)
			all = append(all, c)
		}
	}
	return all
}

// or returns the values of a key, or another one alone if it was left out.
func or[T any](values []T, other T) []T {
	if len(values) == 0 {
		return []T{other}
	}
	return values
}

// underlays returns the shapes as cells carry them. Instances whose rate is not known are left out, or are an
// error if no other shape remains.
func (s Suite) underlays(known Known) (texts []string, skips []Skip, err error) {
	for i, u := range or(s.Underlay, Underlay{}) {
		shape, err := known.Shape(u)
		var rateless *unknownRate
		switch {
		case errors.As(err, &rateless) && len(s.Underlay) > 1:
			skips = append(skips, Skip{Underlay: shape.Instance, Reason: rateless.Error()})
			continue
		case err != nil:
			return nil, nil, s.fault(s.item("underlay", i, len(s.Underlay)), "%v", err)
		}
		texts = append(texts, shape.String())
	}
	if len(texts) == 0 {
		return nil, nil, s.fault("underlay", "%s", skips[0].Reason)
	}
	return texts, skips, nil
}

func (s Suite) checkConditions() error {
	for _, d := range record.Dimensions(record.Condition) {
		values := s.Conditions[d.Identifier()]
		for i, v := range values {
			field := s.item(d.Identifier(), i, len(values))
			switch v := v.(type) {
			case int:
				what := d.Name + " are not possible"
				if d.Unit == "B" {
					what = "bytes are not a possible " + d.Title
				}
				if v < d.Least || v > d.Most {
					return s.fault(field, "%d %s; write a number from %d to %d", v, what, d.Least, d.Most)
				}
			case string:
				if !slices.Contains(d.Values, v) {
					return s.fault(field, "%q is not possible; write %s", v, either(d.Values))
				}
			}
		}
	}
	for i, u := range s.Underlay {
		if err := u.check(); err != nil {
			return s.fault(s.item("underlay", i, len(s.Underlay)), "%v", err)
		}
	}
	return nil
}

// Underlay is the shape of each host's link to the others. The zero value is unshaped.
type Underlay struct {
	Instance string        // machine type whose network it imitates; the rate may be left to Known.Shape
	Rate     uint64        // bit/s that a host can send, and receive
	Delay    time.Duration // added to each packet that a host sends; whole microseconds
}

// Limits of a shape, within which the kernel's token bucket and delay queue
// count without overflow.
const (
	minRate  = 10_000          // bit/s
	maxRate  = 400_000_000_000 // bit/s
	maxDelay = 10 * time.Second
)

// unshaped is how users write the zero Underlay.
const unshaped = "none"

// ParseUnderlay reads a shape such as rate=1G,delay=1ms, the name of an instance such as m4.10xlarge, or both, as
// in m4.10xlarge:rate=10G. Rates are written as for BitRate, or as in tc(8): mbit is 10^6 bit/s, mibit is 2^20
// bit/s, and mbps is 10^6 bytes per second. The empty text and none are unshaped.
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
	case isInstance(name) && name != "rate" && name != "delay":
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

// ParseUnderlays reads several shapes from a flag: a comma ends a shape if the next part cannot belong to it, as in
// rate=1gbit,rate=10gbit or in m4.large,none,rate=1gbit,delay=1ms.
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
	return record.Tried(texts, func(t string) (Underlay, error) {
		u, err := ParseUnderlay(t)
		if err == nil && t == "" && len(texts) > 1 {
			err = fmt.Errorf("%q is not part of a shape; write for example rate=1G,delay=1ms", t)
		}
		return u, err
	})
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

// Set parses a shape from a suite or a flag.
func (u *Underlay) Set(text string) error { return set(u, ParseUnderlay, text) }

// Instance is a type of machine for hire, whose network an underlay imitates.
type Instance struct {
	Provider string
	Name     string
	Price    float64 // dollars per hour
	Network  string  // as advertised
	Rate     uint64  // bit/s that a link is shaped to; 0 if the advertisement has no number
}

// Shape gives an underlay that names an instance the rate of that instance, unless it has a rate. An underlay
// without an instance is returned unchanged. If the underlay has no rate, it is an error that the instance is
// unknown, or that its network is advertised without a number.
func (k Known) Shape(u Underlay) (Underlay, error) {
	if u.Instance == "" {
		return u, nil
	}
	if i, ok := record.First(k.Instances, func(i Instance) bool { return strings.EqualFold(i.Name, u.Instance) }); ok {
		u.Instance, u.Rate = i.Name, cmp.Or(u.Rate, i.Rate)
		if u.Rate == 0 {
			return u, &unknownRate{i}
		}
		return u, u.check()
	}
	if u.Rate != 0 { // an instance that only the user knows
		return u, nil
	}
	names := record.Each(k.Instances, func(i Instance) string { return i.Name })
	return u, fmt.Errorf("unknown instance %q; %s, or write its rate, such as %s:rate=1gbit",
		u.Instance, listed(u.Instance, names, "nettoll list instances"), u.Instance)
}

// unknownRate is the fault of an instance whose network is advertised without a number.
type unknownRate struct{ Instance }

func (e *unknownRate) Error() string {
	return fmt.Sprintf("the network of %s is advertised as %q, which is not a rate; write the one it has, such as %s:rate=1gbit", e.Name, e.Network, e.Name)
}

// isInstance reports whether the text could name an instance: a letter, then letters, digits, hyphens, underscores and
// dots.
func isInstance(text string) bool {
	const (
		letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		longest = 64
	)
	return text != "" && len(text) <= longest && strings.Contains(letters, text[:1]) &&
		strings.Trim(text, letters+"0123456789-_.") == ""
}
