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

// setupOf returns the settings of a role's endpoints and of their trial's flows: the values of every
// attribute as text, for example "MTU" → "1500". Endpoints of one role that differ show all of their values,
// for example "1450/1500". Attributes that were not recorded are missing.
func setupOf(role string, endpoints []record.Endpoint, flows []record.Flow) map[string]string {
	seen := map[string][]string{}
	add := func(name, value string) {
		if value != "" {
			seen[name] = record.AddNew(seen[name], value)
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
	out := map[string]string{}
	for name, v := range seen {
		slices.SortFunc(v, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		out[name] = strings.Join(v, "/")
	}
	return out
}

// machineFacts returns what is known about the machine of an endpoint, and about its network card.
func machineFacts(e record.Endpoint) map[string]string {
	facts := map[string]string{}
	if m := e.Machine; m != nil {
		facts["CPU"], facts["kernel"] = strings.TrimSpace(m.Arch+" "+m.CPUModel), m.Kernel
	}
	if n := e.NIC; n != nil {
		facts["driver of the network card"], facts["rate of the link"] = n.Driver, n.Rate()
	}
	return facts
}

// unlikeMachines names what differs between the machines of endpoints, if they are several, with the values of all.
func unlikeMachines(endpoints []record.Endpoint) (all []string) {
	seen := map[string][]string{}
	for _, e := range endpoints {
		for name, value := range machineFacts(e) {
			seen[name] = record.AddNew(seen[name], value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[name]) > 1 {
			all = append(all, name+" "+strings.Join(seen[name], " and "))
		}
	}
	return all
}

// movedMachines names what is not the same about the machines of all trials, with the values in the order of the trials. Of the
// machine that nettoll runs on nothing is recorded with trials. What a trial does not have is not compared.
func movedMachines(trials []*record.Trial) (all []string) {
	seen := map[string][]string{}
	for _, t := range trials {
		now := map[string][]string{}
		add := func(name, value string) {
			if value != "" {
				now[name] = record.AddNew(now[name], value)
			}
		}
		for _, e := range t.Endpoints {
			add(e.Role, e.Platform)
			for name, value := range machineFacts(e) {
				add(name+" of the "+e.Role, value)
			}
			if e.NIC != nil {
				add("network card of the "+e.Role, e.NIC.Device)
			}
			if e.Machine != nil && t.CPU != nil && len(t.CPU.Machine.PerCPU) > 0 {
				add("number of CPUs", strconv.Itoa(len(t.CPU.Machine.PerCPU))) // of all machines together
			}
		}
		for name, values := range now {
			slices.Sort(values)
			seen[name] = record.AddNew(seen[name], strings.Join(values, " and "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[name]) > 1 {
			all = append(all, name+" from "+strings.Join(seen[name], " to "))
		}
	}
	return all
}

// difference is an attribute in which endpoints and flows differ from others, and how, for example "MTU 1450 against
// 1500", with the role if only one end differs.
type difference struct{ attribute, text string }

// differences returns every attribute in which endpoints and flows differ from others. Attributes that only one side
// recorded are not compared.
func differences(ce []record.Endpoint, cf []record.Flow, ne []record.Endpoint, nf []record.Flow) (all []difference) {
	found := map[difference][]string{}
	for _, role := range []string{"client", "server"} {
		ours, theirs := setupOf(role, ce, cf), setupOf(role, ne, nf)
		for name, v := range ours {
			if w, has := theirs[name]; has && v != w {
				d := difference{name, fmt.Sprintf("%s %s against %s", name, v, w)}
				found[d] = append(found[d], role)
			}
		}
	}
	inOrder := slices.SortedFunc(maps.Keys(found), func(a, b difference) int { return cmp.Compare(a.text, b.text) })
	mtu := slices.ContainsFunc(inOrder, func(d difference) bool { return d.attribute == "MTU" })
	for _, d := range inOrder {
		if mtu && d.attribute == "MSS" {
			continue // follows from the MTU of either end
		}
		if roles := found[d]; len(roles) == 1 {
			d.text = roles[0] + " " + d.text
		}
		all = append(all, d)
	}
	return all
}

// lastSetup returns the endpoints of the last trial that has any, and the flows of the last trial that has any.
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
