package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
)

// endpointView is one end of a network; what differs from native is marked.
type endpointView struct {
	Network, Role, Name  string
	Device, Address      string
	MTU, Qdisc, CPUs     marked
	Offloads, Parameters []marked
	Reduced              bool // to the offloads and parameters that differ from the baseline's
}

type marked struct {
	Text    string
	Differs bool
	Off     bool
}

// Facts compares the ends of every network with native's.
func (s *section) Facts() (all []endpointView) {
	g := s.group
	used := g.congestions()
	for _, l := range g.lines {
		var base []record.Endpoint
		if n, ok := g.nativeOf(l); ok {
			base = endpoints(n)
		}
		for _, e := range endpoints(l) {
			b := e
			if at := slices.IndexFunc(base, func(n record.Endpoint) bool { return n.Role == e.Role }); at >= 0 {
				b = base[at]
			}
			v := newEndpoint(l.name, e, b, used)
			if !l.native && len(base) > 0 {
				v.onlyDifferent()
			}
			all = append(all, v)
		}
	}
	return all
}

// onlyDifferent removes what an end has in common with the baseline's.
func (v *endpointView) onlyDifferent() {
	same := func(m marked) bool { return !m.Differs }
	v.Offloads, v.Parameters = slices.DeleteFunc(v.Offloads, same), slices.DeleteFunc(v.Parameters, same)
	v.Reduced = true
}

func endpoints(l line) []record.Endpoint {
	for _, row := range l.rows {
		if row != nil && len(row.Endpoints) > 0 {
			return row.Endpoints
		}
	}
	return nil
}

// newEndpoint compares one end with the baseline's. For congestion control it shows what was in use, if known: the
// parameter is only the machine's default.
func newEndpoint(network string, e, base record.Endpoint, used []string) endpointView {
	v := endpointView{
		Network: network, Role: e.Role, Name: e.Name, Device: e.Device, Address: e.Address,
		MTU:   marked{Text: strconv.Itoa(e.MTU), Differs: e.MTU != base.MTU},
		Qdisc: marked{Text: e.Qdisc, Differs: e.Qdisc != base.Qdisc},
		CPUs:  marked{Text: cpuList(e.CPUs), Differs: !slices.Equal(e.CPUs, base.CPUs)},
	}
	if e.Driver != "" && e.Driver != e.Device {
		v.Device += " (" + e.Driver + ")"
	}
	for _, name := range slices.Sorted(maps.Keys(e.Offloads)) {
		was, known := base.Offloads[name]
		v.Offloads = append(v.Offloads, marked{Text: name, Off: !e.Offloads[name], Differs: known && was != e.Offloads[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Sysctls)) {
		was, known := base.Sysctls[name]
		short := name[strings.LastIndexByte(name, '.')+1:]
		text := short + " " + e.Sysctls[name]
		if short == "tcp_congestion_control" && len(used) > 0 {
			text = "congestion control in use: " + join(used)
			if len(used) > 1 || used[0] != e.Sysctls[name] {
				text += " (the machine's own is " + e.Sysctls[name] + ")"
			}
		}
		v.Parameters = append(v.Parameters, marked{Text: text, Differs: known && was != e.Sysctls[name]})
	}
	return v
}

func cpuList(cpus []int) string {
	if len(cpus) == 0 {
		return "any"
	}
	var parts []string
	for _, c := range cpus {
		parts = append(parts, strconv.Itoa(c))
	}
	return join(parts)
}
