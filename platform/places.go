package platform

import "fmt"

// MostPlaces is how many networks can stand at once on hosts that they share.
const MostPlaces = 12

// Places tells networks apart that stand at once on hosts that they share: each has a number, by which it takes names,
// ports and addresses that no other has. The zero value has none taken.
type Places struct {
	taken [MostPlaces]bool
	most  int // that were taken at once so far
}

// Take returns the lowest place that no network has; false: there is none.
func (p *Places) Take() (place int, ok bool) {
	n := p.Used() + 1
	for i, taken := range p.taken {
		if !taken {
			p.taken[i], p.most = true, max(p.most, n)
			return i, true
		}
	}
	return 0, false
}

// Free gives a place up.
func (p *Places) Free(place int) { p.taken[place] = false }

// Used returns how many are taken.
func (p *Places) Used() (n int) {
	for _, taken := range p.taken {
		if taken {
			n++
		}
	}
	return n
}

// With returns a description of hosts, and adds how many networks stood on them at once, if that was more than one.
func (p *Places) With(hosts string) string {
	if p.most < 2 {
		return hosts
	}
	return fmt.Sprintf("%s, with up to %d networks at once", hosts, p.most)
}
