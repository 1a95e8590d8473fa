package plan

import (
	"cmp"
	"fmt"
	"strings"
)

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
