package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// watcher samples the machine, the daemons of a network and its containers at the edges of the
// window, or of each turn.
type watcher struct {
	at         *machines
	daemons    []network.Daemon
	containers []container
	served     []served
	turns      []turnUse
}

// served are daemons of a node; see network.NodeDaemons.
type served struct {
	network.NodeDaemons
	boot  string // of the machine
	clock string // that its agent has
	sees  string // which processes the agent sees; see sampler.Origin
	host  string // in records
}

// turnUse holds the readings at the beginning and the end of a turn, and the payload that crossed
// the network in between. A whole trial has a single one, with the edges of its window.
type turnUse struct {
	from, to edge
	crossed  uint64  // bytes of payload; 0 if it is the whole window
	counted  uint64  // those of them in the turn's window
	window   float64 // its seconds
}

// container is an endpoint whose CPU time is counted as a whole.
type container struct {
	name string
	at   *AgentEndpoint
	used func(context.Context) (time.Duration, error)
}

// edge holds the readings at one edge of the window.
type edge struct {
	machines   []sampler.Snapshot
	daemons    []sampler.ProcessTime
	containers []sampler.ProcessTime
	switches   uint64
	at         time.Time // when the machines had been read, and the daemons were about to be
	late       bool      // a turn had begun by then
	by         float64   // how long before that, in seconds
	err        error
	uncounted  error                   // of the first container whose CPU time could not be read
	nodes      [][]sampler.ProcessTime // of the daemons of each node
	unserved   error                   // of the first node whose daemons could not be read
}

// lateBy notes how long a turn had run when something was read; if it is not positive, none had begun.
func (e *edge) lateBy(d time.Duration) {
	e.late, e.by = e.late || d > 0, max(e.by, d.Seconds())
}

func newWatcher(at *machines, s *session, links []link) *watcher {
	w := &watcher{at: at, daemons: s.network.Daemons}
	for _, e := range endpoints(links) {
		if used := e.Facts().CPUTime; used != nil {
			w.containers = append(w.containers, container{e.Name(), e.AgentEndpoint, used})
		}
	}
	return w
}

// attend adds the daemons of nodes. Those of a machine that is several nodes are read once, unless each of its nodes has processes
// of its own, and its hosts are not told apart.
func (w *watcher) attend(ctx context.Context, all []network.NodeDaemons) error {
	for _, d := range all {
		var o sampler.Origin
		if err := d.Agent.Call(ctx, sampler.MethodOrigin, nil, &o); err != nil {
			return fmt.Errorf("the agent of the node %s: %w", d.Host, err)
		}
		host, again := d.Host, false
		for i := range w.served {
			if s := &w.served[i]; s.boot == o.Boot {
				s.host, host, again = "", "", again || s.sees == o.Processes
			}
		}
		if !again {
			w.served = append(w.served, served{d, o.Boot, clockOf(o), o.Processes, host})
		}
	}
	for i := range w.served { // as hosts are called where they are several machines
		s := &w.served[i]
		if j := slices.IndexFunc(w.at.all, func(m *machine) bool { return m.boot == s.boot }); len(w.at.all) > 1 && j >= 0 {
			s.host = w.at.all[j].name
		}
	}
	return nil
}

// question returns what the agent of the node is asked.
func (s served) question() farQuestion {
	return farQuestion{agent: s.Agent, clock: s.clock, what: "the agent of the node " + s.Host, method: sampler.MethodProcesses, params: s.PIDs}
}

// used returns the CPU times of the daemons at a time; unknown ones if err is not nil.
func (s served) used(at time.Time, each []time.Duration, err error) ([]sampler.ProcessTime, error) {
	if err == nil && len(each) != len(s.PIDs) {
		err = fmt.Errorf("%d of %d processes were read", len(each), len(s.PIDs))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Host, err)
	}
	return record.Each(each, func(used time.Duration) sampler.ProcessTime { return sampler.Used(at, used) }), nil
}

// watch returns the callbacks with which a tool reports the edges of its window.
func (w *watcher) watch(ctx context.Context) workload.Watch {
	w.turns = make([]turnUse, 1)
	look := func() sight { return w.at.look(ctx) }
	return workload.Watch{Open: func() { w.turns[0].from = w.read(ctx, look) }, Close: func() { w.turns[0].to = w.read(ctx, look) }}
}

// read samples everything. It asks all containers at once: they may be far away, and must be read
// at the same moment as the machine. look reads the machines.
func (w *watcher) read(ctx context.Context, look func() sight) edge {
	e := edge{containers: make([]sampler.ProcessTime, len(w.containers)), nodes: make([][]sampler.ProcessTime, len(w.served))}
	uncounted, unserved := make([]error, len(w.containers)), make([]error, len(w.served))
	var asking sync.WaitGroup
	for i, c := range w.containers {
		asking.Go(func() {
			e.containers[i], uncounted[i] = sampler.Container(func() (time.Duration, error) { return c.used(ctx) })
		})
	}
	for i, s := range w.served {
		asking.Go(func() {
			var each []time.Duration
			began := time.Now()
			err := s.Agent.Call(ctx, sampler.MethodProcesses, s.PIDs, &each)
			e.nodes[i], unserved[i] = s.used(began.Add(time.Since(began)/2), each, err)
		})
	}
	seen := look()
	e.machines, e.switches, e.at, e.err = seen.machines, seen.switches, time.Now(), seen.err
	for _, d := range w.daemons {
		if e.err == nil {
			var t sampler.ProcessTime
			t, e.err = sampler.Process(d.PID)
			e.daemons = append(e.daemons, t)
		}
	}
	asking.Wait()
	e.uncounted, e.unserved = cmp.Or(uncounted...), cmp.Or(unserved...)
	return e
}

// use returns the CPU time of the machine, the daemons and the containers in a window of the given
// seconds. Either all containers are included or none, since the sum of some of them would be wrong; a
// warning says that they are missing, unless their CPU time cannot be read here.
//
// Of the CPU time between the edges of turns, beyond what the idle machine uses (idle, in CPU seconds
// per second), the windows' share is the share of their payload in all payload that crossed between
// the edges. Turns that were not read in time count as long as their windows took: how much crossed in
// them says less, since the machine's speed varies. The edges of a whole trial are those of its window
// except for scheduling delays, and the share is in proportion to the time.
//
// If that is not known, as no turn was read in time, or if it cannot be, since it is more time than there was, a warning says so.
func (w *watcher) use(window, idle float64) (record.CPUUse, []record.Warning, error) {
	for _, t := range w.turns {
		if err := cmp.Or(t.from.err, t.to.err); err != nil {
			return record.CPUUse{}, nil, err
		}
	}
	timely, known := w.timely()
	turns := record.Those(w.turns, timely)
	m, hosts, elapsed, err := w.at.use(turns)
	if err != nil {
		return record.CPUUse{}, nil, err
	}
	share := share(turns, window)
	use := record.CPUUse{Machine: scaled(m, share, window, idle*(window-share*elapsed))}
	for _, h := range hosts {
		h.Busy = max(0, h.Busy*share+h.Idle*(window-share*elapsed))
		h.Idle = max(0, h.Idle)
		use.Hosts = append(use.Hosts, h)
	}
	var doubts []record.Warning
	why := ""
	switch {
	case !known:
		why = "the machine was read when turns of other networks had begun"
	case use.Machine.Busy > tooBusy*window*float64(len(use.Machine.PerCPU)):
		why = "its CPUs would have been busy for more than all of the time"
	}
	if why != "" {
		use.Machine = record.MachineCPU{PerCPU: []record.CPUSample{}}
		use.Hosts = record.Each(use.Hosts, func(h record.HostCPU) record.HostCPU { return record.HostCPU{Host: h.Host} }) // they are still apart
		doubts = append(doubts, record.Warning{Code: record.WarnCPULate, Text: "what the traffic cost in CPU time is not known: " + why})
	}
	for i, d := range w.daemons {
		var sum record.ProcessCPU
		for _, t := range turns {
			one := sampler.Between(d.Name, t.from.daemons[i], t.to.daemons[i], share*t.seconds())
			sum.Name, sum.User, sum.System = one.Name, sum.User+one.User, sum.System+one.System
		}
		sum.Host = d.Host
		use.Daemons = append(use.Daemons, sum)
	}
	use.NodeDaemons, err = w.ofNodes(turns, window/elapsed)
	if err != nil {
		doubts = append(doubts, record.Warning{Code: record.WarnNodeDaemonCPU, Text: "the CPU time of the nodes' daemons is unknown: " + oneline.Errors(err.Error())})
	}
	for _, t := range w.turns {
		for _, e := range []edge{t.from, t.to} {
			if errors.Is(e.uncounted, platform.ErrUnsupported) {
				return use, doubts, nil
			}
			if e.uncounted != nil {
				return use, append(doubts, record.Warning{Code: record.WarnContainerCPU, Text: "the CPU time of containers is unknown: " + oneline.Errors(e.uncounted.Error())}), nil
			}
		}
	}
	for i, c := range w.containers {
		sum := record.ContainerCPU{Name: c.name}
		for _, t := range turns {
			sum.CPU += sampler.Between(c.name, t.from.containers[i], t.to.containers[i], share*t.seconds()).Total()
		}
		use.Containers = append(use.Containers, sum)
	}
	return use, doubts, nil
}

// heldBySockets is more bytes than the sockets of one flow hold behind a daemon, of which the kernel's limits are 4 and 32 MB.
const heldBySockets = 64 << 20

// A program that takes packets from the kernel and gives them back uses at least so much CPU time, in seconds: a tenth of what the
// cheapest needed that were measured, proxies that move pages (splice(2)) and relays of single packets.
const (
	leastPerByte        = 0.01e-9
	leastPerTransaction = 0.1e-6
)

// unused names the daemons of a host that should have carried a payload of some transactions and flows, and have not used the CPU time for it
// in the turns of their network, or returns "". The error says why a whole trial does not tell: on a busy machine, daemons may not
// run in a short window, or are read when it is nearly over.
func (w *watcher) unused(payload, transactions uint64, flows int, window float64) (wrong string, unknown error) {
	if payload == 0 || len(w.daemons) == 0 || len(w.turns) == 0 {
		return "", nil
	}
	held := heldBySockets * uint64(max(1, flows))
	waited := func(share float64) bool { return transactions == 0 && float64(payload)*share <= float64(held) }
	turns, share := []turnUse{{from: w.turns[0].from, to: w.turns[len(w.turns)-1].to}}, 1.0
	if timely, known := w.timely(); known && crossedIn(w.turns) > 0 { // others would count what was used in other networks' turns
		some := record.Those(w.turns, timely)
		if part := float64(crossedIn(some)) / float64(crossedIn(w.turns)); !waited(part) {
			turns, share = some, part
		}
	}
	if waited(share) { // in sockets, for a turn: the daemons may have carried it before
		share = 0
	}
	hosts := record.Distinct(w.daemons, func(d network.Daemon) string { return d.Host })
	least := share * (float64(payload)*leastPerByte + float64(transactions)*leastPerTransaction) / float64(len(hosts))
	for _, host := range hosts {
		used, on := 0.0, []string{}
		for i, d := range w.daemons {
			if d.Host != host {
				continue
			}
			on = append(on, d.Name)
			for _, t := range turns {
				used += sampler.Spent(t.from.daemons[i], t.to.daemons[i])
			}
		}
		if used > 0 && used >= least {
			continue
		}
		which, much := on[0], "no CPU time"
		if n := len(on); n > 1 {
			which = fmt.Sprintf("%s or others (%d in all)", which, n)
		}
		if used > 0 {
			much = fmt.Sprintf("only %s s of CPU time", oneline.Number(used, 2))
		}
		if len(w.turns) == 1 {
			switch watched := turns[0].to.at.Sub(turns[0].from.at); {
			case watched < seconds(window)/2:
				return "", fmt.Errorf("it is not known whether the payload crossed %s: %s was used there while it was watched, but that was only %v", which, much, watched.Round(time.Microsecond))
			case waited(1):
				return "", fmt.Errorf("it is not known whether the payload crossed %s: %s was used there in the window, but sockets can hold the %d bytes that arrived", which, much, payload)
			}
		}
		return fmt.Sprintf("path not proved: the payload should cross %s, and %s was used there", which, much), nil
	}
	return "", nil
}

// ofNodes returns the CPU time of the daemons of nodes between the edges of turns, scaled in proportion to the time: most of
// what they do has nothing to do with the payload. Processes of one name are one. If one of them is unknown, all are: the sum
// of some would be wrong.
func (w *watcher) ofNodes(turns []turnUse, share float64) (all []record.DaemonCPU, err error) {
	for _, t := range turns {
		if err := cmp.Or(t.from.unserved, t.to.unserved); err != nil {
			return nil, err
		}
	}
	for n, s := range w.served {
		for i, name := range s.Names {
			at := slices.IndexFunc(all, func(d record.DaemonCPU) bool { return d.Name == name && d.Host == s.host })
			if at < 0 {
				at = len(all)
				all = append(all, record.DaemonCPU{Name: name, Host: s.host})
			}
			for _, t := range turns {
				from, to := t.from.nodes[n][i], t.to.nodes[n][i]
				all[at].CPU += sampler.Between(name, from, to, share*t.seconds()).Total()
			}
		}
	}
	return all, nil
}

// share returns what part of what was used between the edges of turns counts for a window of the given seconds; see use.
func share(turns []turnUse, window float64) float64 {
	crossed := crossedIn(turns)
	if crossed == 0 {
		return window / record.Sum(turns, turnUse.seconds)
	}
	counted := record.Sum(turns, func(t turnUse) uint64 { return t.counted })
	windows := record.Sum(turns, func(t turnUse) float64 { return t.window })
	return float64(counted) / float64(crossed) * window / windows
}

// tooBusy is for how much of the time CPUs can seem to have been busy: payload costs more while a turn settles than in its window.
const tooBusy = 1.25

// tolerated is the share of a turn's window by which its edges may be read too late, if none was read in time. Other networks' work
// then stands for as much of the turn's at most, and costs about the same.
const tolerated = 0.25

// timely returns which turns count: those at whose edges no other turn had begun when they were read. On a busy machine, CPU time
// of another network's turn would be counted as theirs. If there are none, those count in which hardly any of another's was. It
// reports whether there are such turns; if not, all count.
func (w *watcher) timely() (counts func(turnUse) bool, some bool) {
	for _, such := range []func(turnUse) bool{
		func(t turnUse) bool { return !t.from.late && !t.to.late },
		// Not those whose edges were read one right after the other when both were over.
		func(t turnUse) bool { return max(t.from.by, t.to.by) <= tolerated*t.window && t.seconds() >= t.window },
	} {
		if some := record.Those(w.turns, such); len(some) > 0 && (crossedIn(some) > 0 || crossedIn(w.turns) == 0) {
			return such, true
		}
	}
	return func(turnUse) bool { return true }, false
}

// spent returns the CPU seconds that the machine used for the payload of a turn's window, beyond what it uses when idle, as use
// does for all turns together; nil if they are not known.
func (w *watcher) spent(t turnUse, idle float64) *float64 {
	if t.crossed == 0 {
		return nil
	}
	m, _, elapsed, err := w.at.use([]turnUse{t})
	if err != nil {
		return nil
	}
	spent := (m.Busy - idle*elapsed) * float64(t.counted) / float64(t.crossed)
	return &spent
}

func crossedIn(turns []turnUse) uint64 {
	return record.Sum(turns, func(t turnUse) uint64 { return t.crossed })
}

// resting returns the CPU time of the daemons between one turn of their network and the next; nil
// if there are no daemons or nothing was watched. A first reading that was late was taken in the turn of
// another network, and does no harm; a second one that was late includes part of the network's own turn.
func (w *watcher) resting() *record.Resting {
	var r record.Resting
	for i := range max(0, len(w.turns)-1) {
		others := turnUse{from: w.turns[i].to, to: w.turns[i+1].from}
		if others.to.late {
			continue
		}
		seconds := others.seconds()
		for n, d := range w.daemons {
			r.CPU += sampler.Between(d.Name, others.from.daemons[n], others.to.daemons[n], seconds).Total()
		}
		r.Watched += seconds
	}
	if len(w.daemons) == 0 || r.Watched <= 0 {
		return nil
	}
	return &r
}

// seconds returns the time between the edges.
func (t turnUse) seconds() float64 {
	if len(t.from.machines) == 0 || len(t.to.machines) == 0 {
		return 0
	}
	return t.to.machines[0].At.Sub(t.from.machines[0].At).Seconds()
}

// scaled returns a share of a machine's CPU use, as it would have been in a window, with more
// seconds of busy time added.
func scaled(m record.MachineCPU, share, window, more float64) record.MachineCPU {
	m = stretched(m, share)
	m.Busy = max(0, m.Busy+more)
	for i := range m.PerCPU {
		c := &m.PerCPU[i]
		c.Idle = max(0, min(c.Idle, window))
	}
	return m
}

// stretched returns a machine's CPU use in a longer or shorter time. Errors, which may be negative, can still cancel in sums.
func stretched(m record.MachineCPU, by float64) record.MachineCPU {
	m.Busy, m.Softirq, m.Steal = m.Busy*by, m.Softirq*by, m.Steal*by
	m.PerCPU = record.Each(m.PerCPU, func(c record.CPUSample) record.CPUSample {
		c.User, c.System, c.Softirq, c.IRQ, c.Steal, c.Idle = c.User*by, c.System*by, c.Softirq*by, c.IRQ*by, c.Steal*by, c.Idle*by
		return c
	})
	return m
}

// foreignWork warns of foreign work in a trial that runs on this machine only.
func (w *watcher) foreignWork(use record.CPUUse, window time.Duration) []record.Warning {
	if w.at.of != nil {
		return nil // foreign work on other machines is not known as precisely
	}
	timely, _ := w.timely()
	turns := record.Those(w.turns, timely)
	switches := record.Sum(turns, func(t turnUse) uint64 { return t.to.switches - min(t.from.switches, t.to.switches) })
	return foreignWork(use, window, share(turns, window.Seconds())*float64(switches))
}

// Activity during a trial that does not belong to it makes its figures doubtful: foreign packets
// on its path, and foreign work on its CPUs.

// foreignPackets bounds the packets that a container without a part in the trial may see, and the
// packets for everybody (multicast, broadcast, echo requests) that a container with a part in it may
// see: some for each pair, whose ends look for each other, some for each second, and a few for
// anything else.
func foreignPackets(pairs int, elapsed time.Duration) uint64 {
	const any, each, second = 50, 10, 20
	return any + each*uint64(pairs) + uint64(second*elapsed.Seconds())
}

// port is a container's veth pair on its host.
type port struct {
	device  string // see network.Hop
	index   int
	packets uint64
}

// ports returns the host ends of containers' veth pairs, which are used by nothing but the network,
// by "<host>/<device>".
func (s *session) ports() (map[string]port, error) {
	uplinks := map[string]bool{}
	for _, h := range s.network.Hosts {
		uplinks[h.Name()+"/"+h.Uplink().Device] = true
	}
	known, err := s.devices()
	if err != nil {
		return nil, err
	}
	all := map[string]port{}
	for host, path := range s.readable() {
		list, err := sampler.Packets(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		for device, packets := range list {
			name := host + "/" + device
			if d, ok := known[name]; ok && d.kind == "veth" && !uplinks[name] {
				all[name] = port{path + "/" + device, s.indexes[name], packets}
			}
		}
	}
	return all, nil
}

// foreignTraffic warns if packets other than the trial's crossed the network during it: they
// reached containers without a part in the trial, or they were for everybody.
func foreignTraffic(t *record.Trial, p *proof, before, after map[string]port, pairs int, elapsed time.Duration) []record.Warning {
	most := foreignPackets(pairs, elapsed)
	for i, h := range p.hops { // their names need not be those of devices
		host, _, _ := strings.Cut(h.Name, "/")
		for name, d := range after {
			if strings.HasPrefix(name, host+"/") && d.index == p.before[i].At.Index {
				delete(after, name)
			}
		}
	}
	for name, d := range after {
		if slices.ContainsFunc(p.beside, func(o *proof) bool { return o.crosses(network.Hop{Device: d.device}) }) {
			delete(after, name)
		}
	}
	var where string
	var packets uint64
	for name, d := range after {
		if n := d.packets - min(before[name].packets, d.packets); n > packets || n == packets && name < where {
			where, packets = name, n
		}
	}
	if packets > most {
		return []record.Warning{{Code: record.WarnForeignPackets, Text: fmt.Sprintf(
			"%d packets crossed %s, which leads to a container that takes no part in the trial: something else sent traffic through the network, or a bridge sends payload to all of its ports", packets, where)}}
	}
	where, packets = forEverybody(t)
	return record.Warn(packets > most, record.WarnForeignPackets,
		"%s received %d broadcast, multicast or ping packets: something else sent traffic through the network", where, packets)
}

// forEverybody returns the endpoint that received the most packets that belong to no workload
// (multicast, broadcast, echo requests), and their number.
func forEverybody(t *record.Trial) (where string, packets uint64) {
	// What other processes of a machine receive on lo does not cross this path.
	ends := record.Those(t.Endpoints, func(e record.Endpoint) bool { return e.Device != "lo" })
	return greatest(t.Counters, endNames(ends), "IpExtInMcastPkts", "IpExtInBcastPkts", "Ip6InMcastPkts", "IcmpInEchos", "Icmp6InEchos")
}

// throttled warns if a CPU limit kept an endpoint's processes from running during the trial.
func throttled(t *record.Trial) []record.Warning {
	where, periods := greatest(t.Counters, endNames(t.Endpoints), sampler.CounterThrottled)
	return record.Warn(periods > 0, record.WarnCPULimit,
		"%s used up its CPU limit in %d periods and had to wait: the figures are about that limit, too", where, periods)
}

// shares warns if pods have no CPUs of their own, although that was asked for. Endpoints of other networks in the same run are no pods.
func (r *Runner) shares(ends []record.Endpoint) []record.Warning {
	if r.Settings.Venue == nil || r.Settings.Venue.PodCPUs == 0 {
		return nil
	}
	without := record.Those(ends, func(e record.Endpoint) bool { return e.Resources != nil && e.OwnCPUs() == nil })
	roles := record.Distinct(without, func(e record.Endpoint) string { return e.Role })
	slices.Sort(roles)
	return record.Warn(len(roles) > 0, "shared-cpus",
		"the pods of %s have no CPUs of their own: a limit holds them back where they use more (--pod-cpus needs kubelets with --cpu-manager-policy=static)",
		strings.Join(roles, " and "))
}

// farFromCard warns if no CPU on which an end may run is near the network card of its machine; see near.
func farFromCard(ends []record.Endpoint) []record.Warning {
	far := record.Those(ends, func(e record.Endpoint) bool {
		cpus := e.CPUs
		if len(cpus) == 0 && e.Machine != nil {
			cpus = record.Each(e.Machine.CPUs, func(c record.CPU) int { return c.ID })
		}
		return e.NIC != nil && e.NIC.Near != nil && !slices.ContainsFunc(cpus, func(id int) bool { return slices.Contains(e.NIC.Near, id) })
	})
	names := record.Each(far, func(e record.Endpoint) string { return e.Name + " (" + e.NIC.Device + ")" })
	return record.Warn(len(far) > 0, "far-from-card",
		"the CPUs of %s are on another NUMA node than the network card, so that each packet crosses the interconnect between them: let nettoll use CPUs of the card's node",
		strings.Join(names, " and "))
}

const (
	// foreignCPU is how many CPU seconds per second others may use during a trial.
	foreignCPU = 0.1
	// switching bounds the cost of a switch from one process to another, or from or to an idle
	// CPU: a few microseconds that appear in none of their clocks.
	switching = 5 * time.Microsecond
)

// foreignWork warns if the machine did work during the trial that nothing explains: neither the
// processes of the traffic and the daemons, by their clocks, nor the kernel's work on packets, nor
// the switches between all these, nor what the idle machine does.
func foreignWork(use record.CPUUse, window time.Duration, switches float64) []record.Warning {
	seconds := window.Seconds()
	over := use.Machine.Busy - use.Idle*seconds - use.Processes() - use.Machine.Softirq - switches*switching.Seconds()
	// The kernel samples softirq by ticks, and the clocks of each CPU may be off by a tick at either
	// end.
	ticks := use.Machine.Softirq/tick.Seconds() + 2*float64(len(use.Machine.PerCPU))
	return record.Warn(seconds > 0 && over > foreignCPU*seconds+2*math.Sqrt(ticks)*tick.Seconds(), record.WarnForeignCPU,
		"something else on the machine used %s CPU seconds per second during the trial", oneline.Number(over/seconds, 2))
}
