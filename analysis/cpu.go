package analysis

import (
	"math"
	"slices"
	"strings"

	"nettoll/record"
	"nettoll/reference"
)

// Names of the figures of CPU use, in addition to those in package reference.
const (
	CPUDaemons    = "cpu_daemons"
	CPUContainers = "cpu_containers"
	CPUMachine    = "cpu_machine"
	CPUClientHost = "cpu_client_host"
	CPUServerHost = "cpu_server_host"
	CPUShared     = "cpu_shared"

	CPUNodeDaemons = "cpu_node_daemons"
)

// CPUKinds lists the figures of CPU use in the window, which rows have in addition to those of their metrics.
// They are in CPU seconds per second: 1 is one CPU, all the time. Client and server are the processes at
// either end and their system calls; containers are everything in the containers of both ends, clients and
// servers included, if the platform counts it.
//
// The host of clients, or of servers, is these processes and the daemons that run there; if it is a separate
// machine, it is all CPU time of the machine less its idle use. Shared is the CPU time over the idle machine
// that is charged to no process: packets that the kernel handles in softirq, and the measuring itself. Daemons of nodes are
// those of a cluster of the user's, which serve all of its networks, also without traffic; they are part of the machine, and
// of shared.
func CPUKinds() []record.Kind {
	return record.Each(cpuUses, func(use cpuUse) record.Kind {
		return record.Kind{Name: use.name, Title: use.title, Unit: "cpu-s/s", Better: record.LowerIsBetter}
	})
}

// cpuUse is a figure of CPU use, with its value in one trial, in seconds, if that is known.
type cpuUse struct {
	name, title string
	of          func(*record.Trial) (seconds float64, known bool)
}

var cpuUses = []cpuUse{
	{reference.CPUClient, "CPU of clients", func(t *record.Trial) (float64, bool) { return counted(t.CPU.Client.Total()) }},
	{reference.CPUServer, "CPU of servers", func(t *record.Trial) (float64, bool) { return counted(t.CPU.Server.Total()) }},
	{CPUDaemons, "CPU of daemons", func(t *record.Trial) (float64, bool) { return counted(daemons(t)) }},
	{CPUShared, "shared CPU", sharedLoad},
	{CPUClientHost, "CPU of the clients' host", func(t *record.Trial) (float64, bool) { return hostLoad(t, "client", t.CPU.Client) }},
	{CPUServerHost, "CPU of the servers' host", func(t *record.Trial) (float64, bool) { return hostLoad(t, "server", t.CPU.Server) }},
	{CPUContainers, "CPU of containers", containers},
	{CPUNodeDaemons, "CPU of the nodes' daemons", func(t *record.Trial) (float64, bool) { return counted(nodeDaemons(t)) }},
	{CPUMachine, "CPU of the machine", func(t *record.Trial) (float64, bool) { return counted(t.CPU.Machine.Busy) }},
}

// counted returns CPU time as a known value unless it is 0. Nothing runs without CPU time, so 0 means not recorded.
func counted(seconds float64) (float64, bool) { return seconds, seconds > 0 }

func containers(t *record.Trial) (seconds float64, known bool) {
	return counted(record.Sum(t.CPU.Containers, func(c record.ContainerCPU) float64 { return c.CPU }))
}

// daemons returns the CPU time of the daemons on the given hosts, or of all daemons if none is given.
func daemons(t *record.Trial, hosts ...string) float64 {
	there := func(d record.ProcessCPU) bool { return len(hosts) == 0 || slices.Contains(hosts, d.Host) }
	return record.Sum(record.Those(t.CPU.Daemons, there), record.ProcessCPU.Total)
}

// nodeDaemons returns the CPU time of the daemons of all nodes.
func nodeDaemons(t *record.Trial) float64 {
	return record.Sum(t.CPU.NodeDaemons, func(d record.DaemonCPU) float64 { return d.CPU })
}

// loads returns the values of a figure of CPU use in the OK trials. Those of daemons and of containers exist
// only if there are daemons, and if containers are counted.
func (s series) loads(k record.Kind) []Point {
	use, _ := record.First(cpuUses, func(use cpuUse) bool { return use.name == k.Name })
	var out []Point
	for _, t := range s.ok() {
		if t.CPU == nil || t.Window <= 0 {
			continue
		}
		seconds, known := use.of(t)
		if v := seconds / t.Window; known && !math.IsInf(v, 0) {
			out = append(out, Point{t.Round, v})
		}
	}
	return perRound(out)
}

// hostLoad returns the CPU time of the hosts of one role's endpoints. It is unknown if endpoints of the other
// role are on the same host, if the host of an endpoint or a daemon is unknown, and if the processes of the
// role were not counted: CPU time that cannot be attributed is not divided.
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
	return processes.Total() + daemons(t, own...), true
}

// hostsOf returns the hosts of the selected endpoints, each once, if there are any and all are known.
func hostsOf(t *record.Trial, which func(record.Endpoint) bool) (hosts []string, known bool) {
	for _, e := range t.Endpoints {
		if !which(e) {
			continue
		}
		if e.Host == "" {
			return nil, false
		}
		hosts = record.AddNew(hosts, e.Host)
	}
	return hosts, len(hosts) > 0
}

// wholeHosts returns the CPU time of separate machines beyond their idle use.
func wholeHosts(t *record.Trial, hosts []string) (seconds float64, known bool) {
	if !t.CPU.Machine.Known() {
		return 0, false
	}
	for _, name := range hosts {
		host, known := record.First(t.CPU.Hosts, func(h record.HostCPU) bool { return h.Host == name })
		if !known {
			return 0, false
		}
		seconds += host.Busy - host.Idle*t.Window
	}
	return max(0, seconds), true
}

// othersUse returns how many CPUs of the machine other work used while nothing was measured, and how many
// CPUs there are: 0 if endpoints were on other machines, or this was not watched.
func othersUse(f *record.File) (used float64, cpus int) {
	var idle []float64
	for _, t := range f.Trials {
		if t.Status != record.OK || t.CPU == nil || len(t.CPU.Hosts) > 0 || len(t.CPU.Machine.PerCPU) == 0 {
			continue
		}
		idle = append(idle, t.CPU.Idle)
		cpus = max(cpus, len(t.CPU.Machine.PerCPU))
	}
	return medianOf(idle), cpus
}

// sharedLoad returns the machine's CPU time less its idle use and the time charged to processes. A negative
// value becomes 0: leaving such trials out would bias the figure upwards.
func sharedLoad(t *record.Trial) (seconds float64, known bool) {
	if t.CPU.Machine.Busy <= 0 || t.CPU.Client.Total() <= 0 || t.CPU.Server.Total() <= 0 {
		return 0, false
	}
	return max(0, t.CPU.Machine.Busy-t.CPU.Idle*t.Window-t.CPU.Processes()), true
}

// amount is what a workload moves, and CPU use is divided by.
type amount struct {
	metric string  // how much is moved per second
	unit   float64 // of which cost is the CPU use: 1e9 bytes of payload, in bits, or a transaction
	cost   string  // the metric of the CPU use of the machine
}

func amountOf(c record.Cell) amount {
	if slices.Contains(record.Primary(c.Workload), record.CPUPerTransaction) {
		return amount{record.TransactionRate, 1, record.CPUPerTransaction}
	}
	return amount{record.Throughput, 8e9, record.CPUPerGB}
}

// costKind returns the metric of CPU use per amount moved: CPU seconds per 1e9 bytes of payload, or per transaction
// if the workload counts those. CPU use by itself says little about networks that do not move the same amount.
func costKind(k record.Kind, c record.Cell) record.Kind {
	of, _ := record.KindOf(amountOf(c).cost)
	name, title := strings.TrimPrefix(of.Name, "cpu"), strings.TrimPrefix(of.Title, "CPU")
	return record.Kind{Name: k.Name + name, Title: k.Title + title, Unit: of.Unit, Better: k.Better}
}

// CostKind returns the kind of the figure in a row's Costs that belongs to the given one of CPUKinds.
func CostKind(name string, c record.Cell) record.Kind {
	k, _ := record.First(CPUKinds(), func(k record.Kind) bool { return k.Name == name })
	return costKind(k, c)
}

// amounts returns what the trials moved per second: units of 1e9 bytes, or transactions.
func (s series) amounts() []Point {
	of := amountOf(s.cell)
	k, _ := record.KindOf(of.metric)
	return record.Each(s.points(k), func(p Point) Point { return Point{p.Round, p.Value / of.unit} })
}

// costs returns the values of a figure of CPU use per amount moved. Mixed traffic has none, since its CPU
// time cannot be divided between its two kinds.
func (s series) costs(k record.Kind) []Point {
	if record.Mixed(s.cell.Workload) {
		return nil
	}
	return finitePoints(pairUp(s.loads(k), s.amounts()), func(p pair) float64 { return p.cell / p.native })
}

// inUse returns how many CPUs the trials used over the idle machine: the cost of a unit times the number of units.
func (s series) inUse() []Point {
	k, _ := record.KindOf(amountOf(s.cell).cost)
	return finitePoints(pairUp(s.points(k), s.amounts()), func(p pair) float64 { return p.cell * p.native })
}

// finitePoints returns the value of each pair, leaving out infinities and NaN (0/0).
func finitePoints(pairs []pair, of func(pair) float64) (out []Point) {
	for _, p := range pairs {
		if v := of(p); !math.IsInf(v, 0) && !math.IsNaN(v) {
			out = append(out, Point{p.round, v})
		}
	}
	return out
}

// CostFollows reports whether a difference in CPU per GB, or per transaction, only repeats the difference in
// throughput: as far as is known, as many CPUs were in use as with the baseline. This is the case for a
// stream that keeps a CPU busy.
func (r Row) CostFollows() bool {
	if r.InUse == nil || r.InUse.Ratio == nil || r.InUse.Ratio.Outcome == Different {
		return false
	}
	volume, ok := r.Figure(amountOf(r.Cell).metric)
	return ok && volume.Ratio != nil && volume.Ratio.Outcome != Same
}

// Cost finds a figure of CPU use per amount moved, by the name of the CPU use.
func (r Row) Cost(name string) (Figure, bool) {
	return figureOf(r.Costs, CostKind(name, r.Cell).Name)
}
