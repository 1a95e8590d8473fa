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

var onOff = map[bool]string{true: "on", false: "off"}

// cpuPackage is the attribute of those CPUs that a cluster has given to an endpoint alone: networks that stand at once have
// different ones, and those of another package or kind are not as fast to reach, or as fast.
const cpuPackage = "package of its own CPUs"

// attributes are the values of settings and other facts, as text, by their names: each value once, and only those that are known.
type attributes map[string][]string

func (all attributes) add(name, value string) {
	if value != "" {
		all[name] = record.AddNew(all[name], value)
	}
}

// number writes a number, and 0, which is not known, as "".
func number(v int) string { return strings.TrimPrefix(strconv.Itoa(v), "0") }

// setupOf returns the settings of a role's endpoints and of their trial's flows: the values of every
// attribute as text, for example "MTU" → "1500". Endpoints of one role that differ show all of their values,
// for example "1450/1500". Attributes that were not recorded are missing.
func setupOf(role string, endpoints []record.Endpoint, flows []record.Flow) map[string]string {
	seen := attributes{}
	for _, e := range endpoints {
		if e.Role != role {
			continue
		}
		seen.add("MTU", number(e.IPMTU()))
		seen.add("qdisc", e.Qdisc)
		if e.OwnCPUs() != nil {
			for _, c := range e.Machine.CPUs {
				seen.add(cpuPackage, strconv.Itoa(c.Package)+map[bool]string{true: " (slow)"}[c.Slow])
			}
		}
		if c := e.Confinement; c != nil {
			// A filter whose decisions the kernel remembers costs so little (docs/measured) that it counts as none.
			seen.add("seccomp filter", map[bool]string{true: "run at every call", false: "none"}[c.Uncached])
			seen.add("speculative store bypass", c.StoreBypass)
			seen.add("indirect branch speculation", c.IndirectBranch)
		}
		for name, on := range e.Offloads {
			seen.add(name, onOff[on])
		}
		for name, value := range e.Sysctls {
			seen.add(name, strings.Join(strings.Fields(value), " "))
		}
	}
	for _, f := range flows {
		seen.add("message size", number(f.Message))
		if f.TCP != nil {
			seen.add("MSS", number(int(f.TCP.SndMSS)))
			seen.add("congestion control", f.TCP.Congestion)
		}
	}
	out := map[string]string{}
	for name, v := range seen {
		slices.SortFunc(v, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		out[name] = strings.Join(v, "/")
	}
	return out
}

// fact is something that is known about a machine or its network card, in words.
type fact struct{ name, value string }

// machineFacts returns what is known about the machine of an endpoint.
func machineFacts(e record.Endpoint) []fact {
	if e.Machine == nil {
		return nil
	}
	all := []fact{
		{"CPU", strings.TrimSpace(e.Machine.Arch + " " + e.Machine.CPUModel)}, {"kernel", e.Machine.Kernel},
		{"cpufreq", e.Machine.Power.Frequency()}, {"cpuidle", e.Machine.Power.Idle()},
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.value == "" })
}

// interrupts is a fact that irqbalance changes every few seconds while a machine stays as it is.
const interrupts = "CPUs for interrupts"

// cardFacts returns what is known about the network card of an endpoint's machine.
func cardFacts(e record.Endpoint) []fact {
	n := e.NIC
	if n == nil {
		return nil
	}
	mask := func(text string) string { // without the zeros of CPUs that the kernel only has room for
		return cmp.Or(strings.TrimLeft(strings.ReplaceAll(text, ",", ""), "0"), "0")
	}
	all := []fact{
		{"driver", n.Driver}, {"rate", n.Rate()}, {"MTU", number(n.MTU)},
		{"receive queues", number(n.Receive)}, {"transmit queues", number(n.Transmit)},
		{"receive ring", number(n.ReceiveRing)}, {"transmit ring", number(n.TransmitRing)},
		{interrupts, strings.Join(n.Interrupts, "/")}, {"RPS mask", strings.Join(record.Each(n.RPS, mask), "/")},
	}
	if c := n.Coalesce; c != nil {
		all = append(all, fact{"receive coalescing", coalescing(c.AdaptiveRx, c.RxUsecs, c.RxFrames)},
			fact{"transmit coalescing", coalescing(c.AdaptiveTx, c.TxUsecs, c.TxFrames)})
	}
	for _, name := range slices.Sorted(maps.Keys(n.Offloads)) {
		all = append(all, fact{name, onOff[n.Offloads[name]]})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.value == "" })
}

// coalescing describes how long a network card waits for further packets.
func coalescing(adaptive bool, usecs, frames int) string {
	switch {
	case adaptive:
		return "adaptive"
	case usecs == 0 && frames <= 1:
		return "none"
	case frames == 0:
		return fmt.Sprintf("%d µs", usecs)
	case usecs == 0:
		return fmt.Sprintf("%d packets", frames)
	}
	return fmt.Sprintf("%d µs or %d packets", usecs, frames)
}

// unlikeMachines names what differs between the machines of endpoints, if they are several, and between their network cards, with
// the values of all. changed is what changed between the trials of these endpoints.
func unlikeMachines(endpoints []record.Endpoint, changed map[string][]string) []string {
	all := unlike(endpoints, machineFacts)
	lasting := func(e record.Endpoint) []fact {
		return record.Those(cardFacts(e), func(f fact) bool { return f.name != interrupts || changed[f.name+ofCard+e.Role] == nil })
	}
	if cards := unlike(endpoints, lasting); len(cards) > 0 {
		with := record.Those(endpoints, func(e record.Endpoint) bool { return e.NIC != nil })
		names := record.Distinct(with, func(e record.Endpoint) string { return strings.TrimPrefix(e.Host+"/"+e.NIC.Device, "/") })
		all = append(all, "network cards "+strings.Join(names, " and ")+": "+strings.Join(cards, ", "))
	}
	return all
}

// unlike names the facts that are not the same at all endpoints, with the values of all.
func unlike(endpoints []record.Endpoint, of func(record.Endpoint) []fact) (all []string) {
	var facts []fact
	for _, e := range endpoints {
		facts = record.AddNew(facts, of(e)...)
	}
	for _, same := range record.Gather(facts, func(f fact) string { return f.name }) {
		if len(same) > 1 {
			all = append(all, same[0].name+" "+strings.Join(record.Each(same, func(f fact) string { return f.value }), " and "))
		}
	}
	return all
}

// elsewhere reports whether endpoints and those that they are compared with are on machines of different kinds, by their CPUs and
// kernels. here is the machine that nettoll runs on.
func elsewhere(ends, baseEnds []record.Endpoint, here record.Machine) bool {
	kinds := func(of []record.Endpoint) (all []string) {
		for _, e := range of {
			if m := cmp.Or(e.Machine, &here); m.Kernel != "" { // it is known
				all = record.AddNew(all, m.CPUModel+", "+m.Kernel)
			}
		}
		slices.Sort(all)
		return all
	}
	own, base := kinds(ends), kinds(baseEnds)
	return len(own) > 0 && len(base) > 0 && !slices.Equal(own, base)
}

// namedMachines names the machines of endpoints.
func namedMachines(ends []record.Endpoint) string {
	return strings.Join(record.Distinct(ends, func(e record.Endpoint) string {
		if e.Machine == nil {
			return "this machine"
		}
		return cmp.Or(e.Platform, e.Host)
	}), " and ")
}

// movedMachines names what changed between trials, from the first value to the last.
func movedMachines(changed map[string][]string) (all []string) {
	for name, values := range changed {
		if !strings.HasPrefix(name, interrupts) || len(values) == 2 {
			all = append(all, name+" from "+strings.Join(values, " to "))
		}
	}
	slices.Sort(all)
	return all
}

// ofCard is between the name of a fact and the role of an endpoint.
const ofCard = " of the network card of the "

// changes returns what is not the same about the machines of all trials: the values by name, in the order of the trials. Of the
// machine that nettoll runs on nothing is recorded with trials. What a trial does not have is not compared.
func changes(trials []*record.Trial) map[string][]string {
	seen := map[string][]string{}
	for _, t := range trials {
		now := attributes{}
		for _, e := range t.Endpoints {
			now.add(e.Role, e.Platform)
			for _, f := range machineFacts(e) {
				now.add(f.name+" of the "+e.Role, f.value)
			}
			for _, f := range cardFacts(e) {
				now.add(f.name+ofCard+e.Role, f.value)
			}
			if e.NIC != nil {
				now.add("network card of the "+e.Role, e.NIC.Device)
			}
			if e.Machine != nil && t.CPU != nil && len(t.CPU.Machine.PerCPU) > 0 {
				now.add("number of CPUs", strconv.Itoa(len(t.CPU.Machine.PerCPU))) // of all machines together
			}
		}
		for name, values := range now {
			slices.Sort(values)
			text, before := strings.Join(values, " and "), seen[name]
			if strings.HasPrefix(name, interrupts) { // also when they are back where they were
				seen[name] = slices.Compact(append(before, text))
			} else {
				seen[name] = record.AddNew(before, text)
			}
		}
	}
	maps.DeleteFunc(seen, func(_ string, values []string) bool { return len(values) == 1 })
	return seen
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

// counting returns the trials with figures or, if there are none, all.
func (s series) counting() []*record.Trial {
	if ok := s.ok(); len(ok) > 0 {
		return ok
	}
	return s.trials
}

// lastSetup returns the endpoints of the last trial that has any, and the flows of the last trial that has any: of those with figures,
// unless there are none.
func (s series) lastSetup() (endpoints []record.Endpoint, flows []record.Flow) {
	for _, t := range s.counting() {
		if len(t.Endpoints) > 0 {
			endpoints = t.Endpoints
		}
		if len(t.Flows) > 0 {
			flows = t.Flows
		}
	}
	return endpoints, flows
}
