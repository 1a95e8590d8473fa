package analysis

import (
	"slices"

	"nettoll/record"
)

// hostLoad is the CPU time of the hosts that the endpoints of a role are on. It is
// unknown where those of the other role are on the same one, where an endpoint's or a
// daemon's host is unknown, and where the processes of the role were not counted: what
// cannot be told apart is not shared out.
func hostLoad(t *record.Trial, role string, processes record.ProcessCPU) (seconds float64, known bool) {
	own, ok := hostsOf(t, func(e record.Endpoint) bool { return e.Role == role })
	others, all := hostsOf(t, func(e record.Endpoint) bool { return e.Role != role })
	if !ok || !all || slices.ContainsFunc(own, func(h string) bool { return slices.Contains(others, h) }) {
		return 0, false
	}
	if len(t.CPU.Hosts) > 0 {
		return wholeHosts(t, own)
	}
	if slices.ContainsFunc(t.CPU.Daemons, func(d record.ProcessCPU) bool { return d.Host == "" }) || processes.Total() <= 0 {
		return 0, false
	}
	return processes.Total() + daemons(t, func(d record.ProcessCPU) bool { return slices.Contains(own, d.Host) }), true
}

// hostsOf are the hosts of some endpoints, each once, if there are such and all are known.
func hostsOf(t *record.Trial, which func(record.Endpoint) bool) (hosts []string, known bool) {
	for _, e := range t.Endpoints {
		if !which(e) {
			continue
		}
		if e.Host == "" {
			return nil, false
		}
		if !slices.Contains(hosts, e.Host) {
			hosts = append(hosts, e.Host)
		}
	}
	return hosts, len(hosts) > 0
}

// wholeHosts is what machines of their own did beyond what they do when idle.
func wholeHosts(t *record.Trial, hosts []string) (seconds float64, known bool) {
	for _, name := range hosts {
		i := slices.IndexFunc(t.CPU.Hosts, func(h record.HostCPU) bool { return h.Host == name })
		if i < 0 {
			return 0, false
		}
		seconds += t.CPU.Hosts[i].Busy - t.CPU.Hosts[i].Idle*t.Window
	}
	return max(0, seconds), true
}

// othersUse is how many CPUs of the machine other work had while nothing was measured, and how
// many there are: 0 where endpoints were on other machines, or nobody watched.
func othersUse(f *record.File) (used float64, cpus int) {
	var idle []float64
	for _, t := range f.Trials {
		if t.Status != record.OK || t.CPU == nil || len(t.CPU.Hosts) > 0 || len(t.CPU.Machine.PerCPU) == 0 {
			continue
		}
		idle = append(idle, t.CPU.Idle)
		cpus = max(cpus, len(t.CPU.Machine.PerCPU))
	}
	if len(idle) == 0 {
		return 0, 0
	}
	slices.Sort(idle)
	return median(idle), cpus
}

// sharedLoad is what the machine did beyond what it does when idle and what processes
// were charged with. Less than nothing is nothing: to leave such trials out would favour
// those of which more is left.
func sharedLoad(t *record.Trial) (seconds float64, known bool) {
	client, server := t.CPU.Client.Total(), t.CPU.Server.Total()
	if t.CPU.Machine.Busy <= 0 || client <= 0 || server <= 0 {
		return 0, false
	}
	busy := t.CPU.Machine.Busy - t.CPU.Idle*t.Window
	own := client + server + daemons(t, func(record.ProcessCPU) bool { return true })
	return max(0, busy-own), true
}
