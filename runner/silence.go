package runner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"nettoll/network"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/sampler"
)

// A network is measured when it is silent. What was just built is not: kernels of new
// containers say which multicast groups they listen to and look for neighbours, daemons
// read what they are to do. With a thousand containers on a bridge that is millions of
// packets, and the first trial would measure them.

const (
	// A network is silent when so many packets a second, on all devices of its hosts
	// together, are not exceeded: daemons of some networks send dozens by themselves, and
	// a kernel forwards a thousand in a few milliseconds.
	quietPackets = 1000
	// And when the machine uses no more of a CPU than that beyond what it uses when idle.
	quietCPU = 0.1
	// lookTime is how long a network is watched at a time.
	lookTime = 100 * time.Millisecond
	// cpuPatience bounds the wait where no packets are sent and the CPUs are busy: that may
	// be somebody else's work, which does not end.
	cpuPatience = 500 * time.Millisecond
	// crowd is how many containers are worth a look at the CPUs, in any case.
	crowd = 64
	// tick is the unit of the kernel's clocks of CPU time.
	tick = 10 * time.Millisecond
)

// silenceTime bounds the wait for silence.
var silenceTime = 30 * time.Second

// standing is a network at a moment.
type standing struct {
	at      time.Time
	packets uint64 // that all devices of the network have counted
	cpu     sampler.Snapshot
	own     float64 // CPU seconds of nettoll's own processes
}

// stand reads a network.
func (s *session) stand(ctx context.Context, links []link) (st standing, err error) {
	st.at = time.Now()
	if st.packets, err = s.crossed(ctx, links); err != nil {
		return st, err
	}
	if st.cpu, err = s.r.cpu.Read(); err != nil {
		return st, err
	}
	st.own = sampler.CPUTime(os.Getpid())
	for _, m := range s.agents.all {
		if m.client != nil {
			st.own += sampler.CPUTime(m.client.PID())
		}
	}
	return st, nil
}

// crossed is how many packets all devices of the network have counted: those of its hosts,
// which have an end of every container's, or, where these are somebody else's, those on
// the paths.
func (s *session) crossed(ctx context.Context, links []link) (sum uint64, err error) {
	hosts := s.readable()
	for name, path := range hosts {
		all, err := sampler.Packets(path)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		for device, packets := range all {
			if device != "lo" { // over which daemons talk to each other
				sum += packets
			}
		}
	}
	seen := map[string]bool{}
	for _, l := range links {
		for _, h := range l.hops {
			if len(hosts) > 0 || h.Kind != network.Device || seen[h.Name] {
				continue
			}
			seen[h.Name] = true
			c, err := h.Read(ctx)
			if err != nil {
				return 0, fmt.Errorf("read %s: %w", h.Name, err)
			}
			sum += c.Packets
		}
	}
	return sum, nil
}

// settle waits until the network is silent, and says what that took.
func (s *session) settle(ctx context.Context, v plan.Visit) (*record.Settle, error) {
	bound := s.r.patience(silenceTime)
	limit := bound + s.r.patience(grace)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("its counters were not read within %v", limit))
	defer cancel()
	links, err := s.links(network.Family(v.Cells[0].Family))
	if err != nil {
		return nil, err
	}
	began, err := s.stand(ctx, links)
	if err != nil {
		return nil, err
	}
	// Agents take a while to start: meanwhile it shows whether there are packets.
	err = ask(seats(links), func(_ int, at seated) error {
		_, err := at.Agent(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Since when there are no packets, and since when the CPUs have nothing to do, either.
	var quiet, calm *standing
	from, lively, noisy := began, s.lively(v), false
	for first := true; ; first = false {
		if !first || lively {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(lookTime):
			}
		}
		to, err := s.stand(ctx, links)
		if err != nil {
			return nil, err
		}
		r, since := s.rest(from, to), from
		switch {
		case r.packets > quietPackets:
			if to.at.Sub(began.at) >= bound {
				return s.settled(began, to, r, false), nil
			}
			quiet, calm, noisy = nil, nil, true
		case first && !lively || r.cpu <= r.tolerance:
			quiet, calm = cmp.Or(quiet, &since), cmp.Or(calm, &since)
		default:
			quiet, calm = cmp.Or(quiet, &since), nil
		}
		switch {
		case calm != nil && (!noisy || to.at.Sub(calm.at) > lookTime*3/2): // else it may be a pause
			return s.settled(began, *calm, r, true), nil
		case quiet != nil && to.at.Sub(quiet.at) >= cpuPatience:
			return s.settled(began, *quiet, r, true), nil
		}
		from = to
	}
}

// lively reports whether a network may be at work by itself without any packet: it has many
// containers, daemons, or an engine.
func (s *session) lively(v plan.Visit) bool {
	if s.topo.Servers+s.topo.Clients+s.topo.Neighbours > crowd {
		return true
	}
	for _, e := range slices.Concat(s.network.Servers, s.network.Clients) {
		if e.Facts().About != "" {
			return true
		}
	}
	return s.r.Networks[v.Network].Driver.Startup > 0
}

// rest is what a network does while nobody uses it.
type rest struct {
	packets   float64 // a second
	cpu       float64 // CPU seconds a second of the machine, beyond those that it uses when idle
	tolerance float64 // how much of that is no more than nothing
}

func (s *session) rest(from, to standing) (r rest) {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return r
	}
	// A few packets in a moment are no storm.
	r.packets = float64(to.packets-min(from.packets, to.packets)) / max(seconds, lookTime.Seconds())
	use, err := sampler.Use(from.cpu, to.cpu, seconds)
	if err != nil {
		return r
	}
	r.cpu = max(0, (use.Busy-max(0, to.own-from.own))/seconds-max(0, s.r.idle.Rate()))
	// Each clock may be a tick off, at either end.
	r.tolerance = quietCPU + tick.Seconds()*math.Sqrt(2*float64(len(use.PerCPU)))/seconds
	return r
}

// settled sums up what was spent from when the network stood until it was silent.
func (s *session) settled(began, until standing, r rest, silent bool) *record.Settle {
	all := s.rest(began, until)
	wait := until.at.Sub(began.at).Seconds()
	return &record.Settle{
		Wait: wait, CPU: all.cpu * wait, Packets: until.packets - min(began.packets, until.packets), Silent: silent,
		RestPackets: r.packets, RestCPU: r.cpu,
	}
}

// unsettled doubts the trials of a network that did not become silent, or of which that is not
// known.
func unsettled(s *record.Settle, unknown error) []record.Warning {
	if unknown != nil {
		return []record.Warning{{Code: "not-silent", Text: fmt.Sprintf("whether the network was silent before it was measured is not known: %s", oneLine(unknown))}}
	}
	if s == nil || s.Silent {
		return nil
	}
	return []record.Warning{{Code: "not-silent", Text: fmt.Sprintf(
		"the network did not become silent: after %.3g s without traffic its devices still saw %.3g packets a second", s.Wait, s.RestPackets)}}
}
