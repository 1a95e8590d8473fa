package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
)

// setup is what the endpoints of one role are set to: the values of every
// attribute, in words, such as "MTU" → "1500".
type setup map[string]string

// setupOf gathers the setup of the endpoints of a role, and of the flows of
// their trial. Endpoints of one role that differ from each other show all of
// their values, such as "1450/1500". What was not recorded is not in it.
func setupOf(role string, endpoints []record.Endpoint, flows []record.Flow) setup {
	seen := map[string][]string{}
	add := func(name, value string) {
		if value != "" && !slices.Contains(seen[name], value) {
			seen[name] = append(seen[name], value)
		}
	}
	number := func(name string, v int) {
		if v != 0 {
			add(name, strconv.Itoa(v))
		}
	}
	for _, e := range endpoints {
		if e.Role != role {
			continue
		}
		number("MTU", e.MTU)
		add("qdisc", e.Qdisc)
		for name, on := range e.Offloads {
			add(name, map[bool]string{true: "on", false: "off"}[on])
		}
		for name, value := range e.Sysctls {
			add(name, strings.Join(strings.Fields(value), " "))
		}
	}
	for _, f := range flows {
		number("message size", f.Message)
		if f.TCP != nil {
			number("MSS", int(f.TCP.SndMSS))
			add("congestion control", f.TCP.Congestion)
		}
	}
	out := setup{}
	for name, v := range seen {
		slices.SortFunc(v, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		out[name] = strings.Join(v, "/")
	}
	return out
}

// differences names every attribute in which the endpoints of a cell and of its
// native differ, such as "MTU 1450 against 1500", with the role if only one end
// differs. Attributes that only one side recorded are not compared.
func differences(cell, native series) []string {
	ce, cf := cell.lastSetup()
	ne, nf := native.lastSetup()
	return setupsDiffer(ce, cf, ne, nf)
}

// setupsDiffer does so for endpoints and flows of any two.
func setupsDiffer(ce []record.Endpoint, cf []record.Flow, ne []record.Endpoint, nf []record.Flow) []string {
	found := map[string][]string{}
	for _, role := range []string{"client", "server"} {
		ours, theirs := setupOf(role, ce, cf), setupOf(role, ne, nf)
		for name, v := range ours {
			if w, has := theirs[name]; has && v != w {
				text := fmt.Sprintf("%s %s against %s", name, v, w)
				found[text] = append(found[text], role)
			}
		}
	}
	var out []string
	mtu := slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(text string) bool { return strings.HasPrefix(text, "MTU ") })
	for _, text := range slices.Sorted(maps.Keys(found)) {
		if mtu && strings.HasPrefix(text, "MSS ") {
			continue // follows from the MTU of either end
		}
		if roles := found[text]; len(roles) == 1 {
			text = roles[0] + " " + text
		}
		out = append(out, text)
	}
	return out
}

// lastSetup are the endpoints of the last trial that has them and the flows of
// the last trial that has some.
func (s series) lastSetup() (endpoints []record.Endpoint, flows []record.Flow) {
	for _, t := range s.trials {
		if len(t.Endpoints) > 0 {
			endpoints = t.Endpoints
		}
		if len(t.Flows) > 0 {
			flows = t.Flows
		}
	}
	return endpoints, flows
}
