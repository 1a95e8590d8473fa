package analysis

import (
	"math"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Names of the figures of CPU use, beside those that reference has.
const (
	CPUDaemons    = "cpu_daemons"
	CPUContainers = "cpu_containers"
	CPUMachine    = "cpu_machine"
	CPUClientHost = "cpu_client_host"
	CPUServerHost = "cpu_server_host"
	CPUShared     = "cpu_shared"
)

// CPUKinds lists the figures of CPU use in the window, which rows have in addition to
// those of their metrics. They are in CPU seconds per second: 1 is one CPU, all the
// time. Client and server are the processes at either end and their system calls;
// containers are everything in the containers of both ends, clients and servers included,
// if the platform counts it.
//
// The host of clients, or of servers, is these processes and the daemons that run
// there; if it is a machine of its own, it is all CPU time of the machine less its idle use.
// Shared is the CPU time over the idle machine that is charged to no process: packets that the
// kernel handles in softirq, and the measuring itself.
func CPUKinds() []record.Kind {
	kind := func(name, title string) record.Kind {
		return record.Kind{Name: name, Title: title, Unit: "cpu-s/s", Better: record.LowerIsBetter}
	}
	return []record.Kind{
		kind(reference.CPUClient, "CPU of clients"),
		kind(reference.CPUServer, "CPU of servers"),
		kind(CPUDaemons, "CPU of daemons"),
		kind(CPUShared, "shared CPU"),
		kind(CPUClientHost, "CPU of the clients' host"),
		kind(CPUServerHost, "CPU of the servers' host"),
		kind(CPUContainers, "CPU of containers"),
		kind(CPUMachine, "CPU of the machine"),
	}
}

// loads are the values of a figure of CPU use in the OK trials. Those of daemons and of
// containers exist only where there are daemons, and where containers are counted.
func (s series) loads(k record.Kind) []Point {
	var out []Point
	for _, t := range s.ok() {
		if t.CPU == nil || t.Window <= 0 {
			continue
		}
		seconds, known := load(k.Name, t)
		if v := seconds / t.Window; known && !math.IsInf(v, 0) {
			out = append(out, Point{t.Round, v})
		}
	}
	return out
}

// load is a figure of CPU use in one trial, in seconds, if that is known.
func load(name string, t *record.Trial) (seconds float64, known bool) {
	switch name {
	case reference.CPUClient:
		seconds = t.CPU.Client.Total()
	case reference.CPUServer:
		seconds = t.CPU.Server.Total()
	case CPUMachine:
		seconds = t.CPU.Machine.Busy
	case CPUDaemons:
		seconds = daemons(t, func(record.ProcessCPU) bool { return true })
	case CPUContainers:
		for _, c := range t.CPU.Containers {
			seconds += c.CPU
		}
	case CPUClientHost:
		return hostLoad(t, "client", t.CPU.Client)
	case CPUServerHost:
		return hostLoad(t, "server", t.CPU.Server)
	case CPUShared:
		return sharedLoad(t)
	}
	// Nothing runs without CPU time: 0 is what was not recorded.
	return seconds, seconds > 0
}

func daemons(t *record.Trial, which func(record.ProcessCPU) bool) (seconds float64) {
	for _, d := range t.CPU.Daemons {
		if which(d) {
			seconds += d.Total()
		}
	}
	return seconds
}

// hostLoad is the CPU time of the hosts of one role's endpoints. It is unknown if endpoints
// of the other role are on the same host, if the host of an endpoint or a daemon is
// unknown, and if the processes of the role were not counted: CPU time that cannot be
// attributed is not divided.
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

// othersUse is how many CPUs of the machine other work used while nothing was measured, and how
// many there are: 0 if endpoints were on other machines, or this was not watched.
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

// sharedLoad is the machine's CPU time less its idle use and what processes were charged
// with. A negative value becomes 0: leaving such trials out would bias the figure upwards.
func sharedLoad(t *record.Trial) (seconds float64, known bool) {
	client, server := t.CPU.Client.Total(), t.CPU.Server.Total()
	if t.CPU.Machine.Busy <= 0 || client <= 0 || server <= 0 {
		return 0, false
	}
	busy := t.CPU.Machine.Busy - t.CPU.Idle*t.Window
	own := client + server + daemons(t, func(record.ProcessCPU) bool { return true })
	return max(0, busy-own), true
}

// gigabyte is 1e9 bytes in bits.
const gigabyte = 8e9

// costKind is CPU use per amount moved, as a metric: CPU seconds per 1e9 bytes of payload, or per
// transaction if the workload counts these. CPU use by itself says little about networks that do
// not move the same amount.
func costKind(k record.Kind, c record.Cell) record.Kind {
	if perTransaction(c) {
		return record.Kind{Name: k.Name + "_per_transaction", Title: k.Title + " per transaction", Unit: "cpu-s", Better: k.Better}
	}
	return record.Kind{Name: k.Name + "_per_gb", Title: k.Title + " per GB", Unit: "cpu-s/GB", Better: k.Better}
}

// CostKind is the figure of a row's Costs that belongs to one of CPUKinds.
func CostKind(name string, c record.Cell) (record.Kind, bool) {
	for _, k := range CPUKinds() {
		if k.Name == name {
			return costKind(k, c), true
		}
	}
	return record.Kind{}, false
}

func perTransaction(c record.Cell) bool {
	return slices.Contains(record.Primary(c.Workload), record.CPUPerTransaction)
}

// amounts are what the trials moved per second: units of 1e9 bytes, or transactions.
func (s series) amounts() []Point {
	name, unit := record.Throughput, gigabyte
	if perTransaction(s.cell) {
		name, unit = record.TransactionRate, 1.0
	}
	k, _ := record.KindOf(name)
	out := s.points(k)
	for i := range out {
		out[i].Value /= unit
	}
	return out
}

// costs are a figure of CPU use per amount moved. Traffic of two kinds at once has none, since its CPU
// time cannot be divided between them.
func (s series) costs(k record.Kind) []Point {
	if record.Mixed(s.cell.Workload) {
		return nil
	}
	var out []Point
	for _, p := range pairUp(s.loads(k), s.amounts()) {
		if v := p.cell / p.native; p.native > 0 && !math.IsInf(v, 0) {
			out = append(out, Point{p.round, v})
		}
	}
	return out
}

// inUseKind is CPU use over idle as a metric.
func inUseKind() record.Kind {
	return record.Kind{Name: "cpu_in_use", Title: "CPU in use", Unit: "cpu-s/s", Better: record.LowerIsBetter}
}

// inUse is how many CPUs the trials used over the idle machine: the cost of a unit times the number of
// units.
func (s series) inUse() []Point {
	name := record.CPUPerGB
	if perTransaction(s.cell) {
		name = record.CPUPerTransaction
	}
	k, _ := record.KindOf(name)
	var out []Point
	for _, p := range pairUp(s.points(k), s.amounts()) {
		if v := p.cell * p.native; !math.IsInf(v, 0) {
			out = append(out, Point{p.round, v})
		}
	}
	return out
}

// CostFollows reports whether a difference in CPU per GB, or per transaction, only repeats the difference
// in throughput: as far as is known, as many CPUs were in use as with the baseline. This is the case for
// a stream that keeps a CPU busy.
func (r Row) CostFollows() bool {
	if r.InUse == nil || r.InUse.Ratio == nil || r.InUse.Ratio.Outcome == Different {
		return false
	}
	volume, ok := r.Figure(record.Throughput)
	if perTransaction(r.Cell) {
		volume, ok = r.Figure(record.TransactionRate)
	}
	return ok && volume.Ratio != nil && volume.Ratio.Outcome != Same
}

// Cost finds a figure of CPU use over what was moved, by the name of the CPU use.
func (r Row) Cost(name string) (Figure, bool) {
	for _, f := range r.Costs {
		if strings.HasPrefix(f.Kind.Name, name+"_per_") {
			return f, true
		}
	}
	return Figure{}, false
}
