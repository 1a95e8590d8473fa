package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// How long remote machines are watched before the first trial of a round, and before every other one.
const (
	idleFirst = 250 * time.Millisecond
	idleAgain = 100 * time.Millisecond
)

// machine is a computer that endpoints of a trial run on.
type machine struct {
	name  string
	boot  string         // empty for this machine, unless it is found to be that of an endpoint
	at    *AgentEndpoint // its agent reads the machine; nil for this machine
	here  bool           // its agent reads this machine, where this process runs as well
	facts record.Machine
	read  func(context.Context) (sampler.Snapshot, error)
	idle  *sampler.Baseline // in the current round
}

// machines are the machines of a trial, each once. of maps an endpoint in a role to its machine, and origins an endpoint, whatever its
// role and process, to what its agent says of that; both are nil if all endpoints are on this machine.
type machines struct {
	all     []*machine
	of      map[*AgentEndpoint]*machine
	origins map[platform.Endpoint]sampler.Origin
}

// here returns this machine.
func (r *Runner) here() *machines {
	return &machines{all: []*machine{{
		facts: r.Machine, idle: &r.idle,
		read: func(context.Context) (sampler.Snapshot, error) { return r.cpu.Read() },
	}}}
}

// machines finds out on which machines the endpoints of a trial are: this one, unless the network
// is distant.
func (s *session) machines(ctx context.Context, links []link) (*machines, error) {
	if !s.network.Distant {
		return s.r.here(), nil
	}
	own, err := sampler.Boot("/proc")
	if err != nil {
		return nil, err
	}
	m := &machines{of: map[*AgentEndpoint]*machine{}, origins: map[platform.Endpoint]sampler.Origin{}}
	byBoot := map[string]*machine{}
	for _, at := range endsOf(links) {
		var o sampler.Origin
		if err := at.Call(ctx, sampler.MethodOrigin, nil, &o); err != nil {
			return nil, fmt.Errorf("%s: find out which machine it runs on: %w", at.Name(), err)
		}
		if byBoot[o.Boot] == nil {
			c := &machine{name: fmt.Sprintf("machine %d", len(m.all)+1), boot: o.Boot, at: at.AgentEndpoint, facts: o.Machine, idle: s.r.idleOf(o.Boot), here: o.Boot == own}
			c.read = func(ctx context.Context) (sampler.Snapshot, error) {
				snap, err := agent.Ask[sampler.Snapshot](ctx, at, sampler.MethodCPU, nil)
				c.leaveOut(&snap, sampler.OwnTime())
				return snap, err
			}
			byBoot[o.Boot] = c
			m.all = append(m.all, c)
		}
		on := byBoot[o.Boot]
		// Only what all of its endpoints may use can be chosen for any of them.
		on.facts.CPUs = record.Those(on.facts.CPUs, func(c record.CPU) bool { return slices.Contains(o.Machine.CPUs, c) })
		m.of[at.AgentEndpoint], m.origins[at.Endpoint] = on, o
	}
	return m, nil
}

// clock identifies the clock of an endpoint; "" is this machine's.
func (m *machines) clock(e platform.Endpoint) string { return clockOf(m.origin(e)) }

// boot identifies the machine of an endpoint; "" is this one.
func (m *machines) boot(e platform.Endpoint) string { return m.origin(e).Boot }

func (m *machines) origin(e platform.Endpoint) sampler.Origin {
	if at, ok := e.(*AgentEndpoint); ok {
		e = at.Endpoint
	}
	return m.origins[e]
}

// clockOf identifies the clock of an agent.
func clockOf(o sampler.Origin) string { return strings.TrimSpace(o.Boot + " " + o.Clock) }

// leaveOut notes in a snapshot what this process has used so far, if the machine is this one: it only measures, as in what is read
// here.
func (m *machine) leaveOut(snap *sampler.Snapshot, own float64) {
	if m.here {
		snap.Own = own
	}
}

// idleOf returns the idle baseline of another machine in this round, by its boot.
func (r *Runner) idleOf(boot string) *sampler.Baseline {
	r.probing.Lock()
	defer r.probing.Unlock()
	if r.distant[boot] == nil {
		r.distant[boot] = &sampler.Baseline{}
	}
	return r.distant[boot]
}

// distinct returns the other machines of networks that stand, each once.
func distinct(players []*player) *machines {
	m := &machines{}
	for _, p := range players {
		if p == nil || p.at.of == nil {
			continue
		}
		for _, c := range p.at.all {
			if !slices.ContainsFunc(m.all, func(o *machine) bool { return o.boot == c.boot }) {
				m.all = append(m.all, c)
			}
		}
	}
	return m
}

// watchIdle watches the machines before the traffic starts, and what others send over hops of networks. What is seen of the machines is
// added to what was seen before other trials of the round; before the first trial it watches longer.
func (m *machines) watchIdle(ctx context.Context, networks ...*proof) error {
	if len(m.all) == 0 {
		return nil
	}
	while := idleAgain
	for _, c := range m.all {
		if c.idle.Watched == 0 {
			while = idleFirst
		}
	}
	all := sightingsOf(networks)
	first := all.read(ctx)
	if len(all) > 0 { // as is done below, between the other two readings
		_, _ = m.snap(ctx)
		_, _ = m.snap(ctx)
	}
	from := all.read(ctx)
	while = max(while, min(2*first.took(from), time.Second)) // while is to be longer than what else is between readings
	before, err := m.snap(ctx)
	if err != nil {
		return err
	}
	if await.Sleep(ctx, while) != nil {
		return context.Cause(ctx)
	}
	after, err := m.snap(ctx)
	if err != nil {
		return err
	}
	for i, c := range m.all {
		if err := c.idle.Watch(before[i], after[i]); err != nil {
			return err
		}
	}
	all.note(first, from, all.read(ctx))
	return nil
}

// snap reads all machines concurrently.
func (m *machines) snap(ctx context.Context) ([]sampler.Snapshot, error) {
	snaps := make([]sampler.Snapshot, len(m.all))
	err := cmp.Or(atonce.Each(-1, m.all, func(i int, c *machine) (err error) {
		snaps[i], err = c.read(ctx)
		return err
	})...)
	if err != nil {
		return nil, err
	}
	return snaps, nil
}

// sight is what the machines of a trial are seen to have done so far. The context switches are the first machine's.
type sight struct {
	machines []sampler.Snapshot
	switches uint64
	err      error
}

func (m *machines) look(ctx context.Context) (s sight) {
	if s.machines, s.err = m.snap(ctx); s.err == nil {
		s.switches = s.machines[0].Switches
	}
	return s
}

// idle returns the sum of the machines' idle use, in CPU seconds per second, and the seconds that
// every one of them was watched at least.
func (m *machines) idle() (sum, watched float64) {
	watched = m.all[0].idle.Watched
	for _, c := range m.all {
		sum += c.idle.Rate()
		watched = min(watched, c.idle.Watched)
	}
	return sum, watched
}

// use returns what the machines did between the edges of turns, as a sum and, if there are several,
// for each machine; and the seconds between the edges at the first one, for which all others count as long. The CPUs in the sum are
// those of all machines.
func (m *machines) use(turns []turnUse) (sum record.MachineCPU, apart []record.HostCPU, elapsed float64, err error) {
	for i, c := range m.all {
		var spans []sampler.Span
		for _, t := range turns {
			if len(t.from.machines) != len(m.all) || len(t.to.machines) != len(m.all) {
				return sum, nil, 0, sampler.ErrNoTime
			}
			spans = append(spans, sampler.Span{From: t.from.machines[i], To: t.to.machines[i]})
		}
		one, seconds, err := sampler.Across(spans)
		if err != nil {
			return sum, nil, 0, err
		}
		if i == 0 {
			elapsed = seconds
		}
		one = stretched(one, elapsed/seconds) // agents answer at times of their own
		if len(m.all) > 1 {
			apart = append(apart, record.HostCPU{Host: c.name, Busy: one.Busy, Idle: c.idle.Rate()})
			for n := range one.PerCPU {
				one.PerCPU[n].Host = c.name
			}
		}
		if i == 0 {
			sum = one
			continue
		}
		if coarser(one.Clock, sum.Clock) {
			sum.Clock = one.Clock
		}
		sum.Busy, sum.Softirq, sum.Steal = sum.Busy+one.Busy, sum.Softirq+one.Softirq, sum.Steal+one.Steal
		sum.PerCPU = append(sum.PerCPU, one.PerCPU...)
	}
	return sum, apart, elapsed, nil
}

// coarser reports whether a clock of idle time is coarser than another.
func coarser(a, b string) bool {
	fineness := []string{sampler.ClockTimerList, sampler.ClockCPUIdle, sampler.ClockStat}
	return slices.Index(fineness, a) > slices.Index(fineness, b)
}

// describe records in the endpoints which machines they are on, unless all are on this one.
func (m *machines) describe(endpoints []record.Endpoint, links []link) {
	if m.of == nil {
		return
	}
	for i, at := range endsOf(links) {
		on := m.of[at.AgentEndpoint]
		facts := on.facts
		facts.CPUs = m.origin(at.Endpoint).Machine.CPUs
		endpoints[i].Machine = &facts
		if len(m.all) > 1 {
			endpoints[i].Host = on.name
		}
	}
}

// place chooses CPUs of a machine that has both ends.
func (m *machine) place(placement string) (workload.CPUs, error) {
	if placement == record.PlacementDistinct && len(m.facts.CPUs) == 1 {
		return workload.CPUs{}, &platform.Unsupported{Feature: "client and server on different CPUs", Option: "a second CPU", Remedy: "measure with --placement same"}
	}
	return Place(m.facts, placement), nil
}

// place chooses CPUs on the machines of clients and servers. On separate machines each side gets the
// half that it would have if they shared one, so that a placement means the same in both cases. Where endpoints have CPUs of
// their own, whoever gave them these has placed them.
func (m *machines) place(placement string, links []link, endpoints []record.Endpoint) (workload.CPUs, error) {
	if m.of == nil {
		return m.all[0].place(placement)
	}
	if slices.ContainsFunc(endpoints, func(e record.Endpoint) bool { return e.OwnCPUs() != nil }) {
		if placement == record.PlacementSame {
			return workload.CPUs{}, &platform.Unsupported{
				Feature: "client and server on the same CPU", Option: "pods without CPUs of their own", Remedy: "measure with --placement distinct, or without --pod-cpus",
			}
		}
		return workload.CPUs{}, nil
	}
	client, server := m.of[links[0].client], m.of[links[0].server]
	if client == server {
		if err := chosen(client.facts, placement); err != nil {
			return workload.CPUs{}, err
		}
		return client.place(placement)
	}
	alone := func(m record.Machine) workload.CPUs { // of an end that shares its machine with no other
		if cores := coresOf(m.CPUs); len(cores) == 1 && placement == record.PlacementDistinct {
			return workload.CPUs{Client: cores[0], Server: cores[0]}
		}
		return Place(m, placement)
	}
	clients, servers := m.ofRole("client", links, endpoints), m.ofRole("server", links, endpoints)
	if err := cmp.Or(chosen(clients, placement), chosen(servers, placement)); err != nil {
		return workload.CPUs{}, err
	}
	return workload.CPUs{Client: alone(clients).Client, Server: alone(servers).Server}, nil
}

// chosen returns an error if no CPU can be chosen, since not all endpoints that are to have it may use one.
func chosen(m record.Machine, placement string) error {
	if len(m.CPUs) > 0 || placement == record.PlacementFree {
		return nil
	}
	return &platform.Unsupported{
		Feature: "--placement " + placement, Option: "CPUs of the same numbers that all clients, and all servers, may use", Remedy: "measure with --placement free",
	}
}

// ofRole returns a machine with the CPUs that all machines of a role have, by their numbers: those alone that are near the network
// card of each, if there are any. From another NUMA node, each packet would have to cross the interconnect.
func (m *machines) ofRole(role string, links []link, endpoints []record.Endpoint) record.Machine {
	var all, near [][]record.CPU
	for i, at := range endsOf(links) {
		if at.role != role {
			continue
		}
		cpus := m.of[at.AgentEndpoint].facts.CPUs
		all = append(all, cpus)
		if i < len(endpoints) && endpoints[i].NIC != nil {
			here := record.Those(cpus, func(c record.CPU) bool { return slices.Contains(endpoints[i].NIC.Near, c.ID) })
			if len(here) > 0 {
				cpus = here
			}
		}
		near = append(near, cpus)
	}
	cpus := inAll(near)
	if len(cpus) == 0 {
		cpus = inAll(all)
	}
	return record.Machine{CPUs: cpus}
}

// inAll returns the CPUs of the first list whose numbers are in all lists.
func inAll(lists [][]record.CPU) []record.CPU {
	return record.Those(lists[0], func(c record.CPU) bool {
		return !slices.ContainsFunc(lists, func(list []record.CPU) bool {
			return !slices.ContainsFunc(list, func(o record.CPU) bool { return o.ID == c.ID })
		})
	})
}
