package engine

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nettoll/agent"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// trial is one Run of the tool.
type trial struct {
	job     workload.Job
	traffic traffic
	options record.Options // with defaults filled in
	kinds   []kind         // the flows of each client
	cookie  []byte
	inTurns bool
	span    time.Duration // of turns: from the first one that counts to the end of the last one's window
	silence string        // when mute flows received nothing, if that is not about one window
	drain   time.Duration // see workload.Turns
	servers []*party
	clients []*party
	flows   []plannedFlow
	placed  map[place]int    // flows for which a CPU was chosen
	known   map[string]int64 // how far each clock is ahead of the first server's, if they were compared over the network
	clocks  *record.Clocks   // of ends on different machines

	compared int64 // when known was learned
}

// party is one process of a trial: a client with all its flows, or a server with all flows that
// come to its port.
type party struct {
	role     role
	endpoint platform.Endpoint
	timedBy  string           // its clock: see workload.Job
	port     int              // server
	listen   []netip.AddrPort // server: all of its addresses
	session  string
	flows    []flowSpec

	agent *agent.Client
	owned bool   // the agent was started for this trial
	clock offset // over the control path
	ahead int64  // how far its clock is ahead of ours, ns

	opened openResult
	window startResult
	left   stopResult
}

func (p *party) String() string { return fmt.Sprintf("%s %s", p.role, p.endpoint.Name()) }

// plannedFlow refers to a flow at its two ends.
type plannedFlow struct {
	client, server     *party
	atClient, atServer int // index into the flows of each
	pair               int // of the job
	kind               int // its index among the flows of its pair, and so in trial.kinds
}

// place is where CPUs are given out to flows.
type place struct {
	role    role
	machine string
}

// plan checks a job and assigns the flows to processes. The i-th flow on a machine is pinned to the i-th
// CPU of its end's set, modulo its size.
func plan(job workload.Job) (*trial, error) {
	w, options, err := trafficOf(job.Workload, job.Options)
	switch {
	case err != nil:
		return nil, err
	case len(job.Pairs) == 0:
		return nil, errors.New("no client and server given")
	case job.Warmup < 0:
		return nil, fmt.Errorf("warm-up of %v: it must not be negative", job.Warmup)
	case job.Warmup == 0 && w.warmed(options):
		return nil, fmt.Errorf("%s needs a warm-up: the first half of it is without load", job.Workload)
	case job.Duration <= 0 || job.Duration > time.Duration(highestLatency):
		return nil, fmt.Errorf("duration of %v: it must be more than 0 and at most %v", job.Duration, time.Duration(highestLatency))
	}
	t := &trial{job: job, traffic: w, options: options, kinds: w.flows(options), cookie: make([]byte, cookieSize), placed: map[place]int{}}
	rand.Read(t.cookie)
	for i, pair := range job.Pairs {
		if err := t.addPair(i, pair); err != nil {
			return nil, err
		}
	}
	for i, p := range t.parties() {
		p.session, p.timedBy = fmt.Sprintf("%x/%d", t.cookie, i), fmt.Sprint(i)
		if job.Clock != nil {
			p.timedBy = cmp.Or(job.Clock(p.endpoint), p.timedBy)
		}
	}
	return t, nil
}

func (t *trial) addPair(index int, pair workload.Pair) error {
	addr, own := pair.Addr.Unmap(), pair.Listen.Unmap()
	if !addr.IsValid() || !own.IsValid() {
		return fmt.Errorf("client %s: no address of server %s", pair.Client.Name(), pair.Server.Name())
	}
	if pair.Port < 1 || pair.Port > 65535 {
		return fmt.Errorf("server %s: port %d", pair.Server.Name(), pair.Port)
	}
	c := find(&t.clients, party{role: client, endpoint: pair.Client})
	s := find(&t.servers, party{role: server, endpoint: pair.Server, port: pair.Port})
	s.listen = record.AddNew(s.listen, netip.AddrPortFrom(own, uint16(pair.Port)))
	for kind := range t.kinds {
		label := fmt.Sprintf("flow %d of client %s", len(c.flows), pair.Client.Name())
		t.flows = append(t.flows, plannedFlow{client: c, server: s, atClient: len(c.flows), atServer: len(s.flows), pair: index, kind: kind})
		c.flows = append(c.flows, flowSpec{
			Label: label,
			Kind:  kind,
			CPU:   t.nextCPU(t.job.CPUs.Client, c),
			To:    netip.AddrPortFrom(addr, uint16(pair.Port)),
			Index: len(s.flows),
		})
		s.flows = append(s.flows, flowSpec{Label: label, Kind: kind, CPU: t.nextCPU(t.job.CPUs.Server, s)})
	}
	return nil
}

// find returns the party with the same endpoint and port as want, and adds want if there is none.
func find(parties *[]*party, want party) *party {
	for _, p := range *parties {
		if p.endpoint == want.endpoint && p.port == want.port {
			return p
		}
	}
	*parties = append(*parties, &want)
	return &want
}

// nextCPU returns the CPU of the next flow of a process, or -1 for any.
func (t *trial) nextCPU(cpus []int, p *party) int {
	if len(cpus) == 0 {
		return -1
	}
	at := place{p.role, t.job.Machine(p.endpoint)}
	n := t.placed[at]
	t.placed[at]++
	return cpus[n%len(cpus)]
}

// parties lists servers, then clients.
func (t *trial) parties() []*party {
	return append(append([]*party(nil), t.servers...), t.clients...)
}
