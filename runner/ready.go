package runner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// A network is measured once it is silent. A newly built network is not: the kernels of new
// containers announce their multicast groups and look for neighbours, and daemons read their
// configuration. With a thousand containers on a bridge that makes millions of packets, and the
// first trial would measure them.

const (
	// A network is silent when its devices together see no more than this many packets per
	// second: daemons of some networks send dozens by themselves, and a kernel forwards a
	// thousand in a few milliseconds.
	quietPackets = 1000
	// And when the machine uses no more than this many CPUs beyond what it uses when idle.
	quietCPU = 0.1
	// lookTime is the length of one observation.
	lookTime = 100 * time.Millisecond
	// cpuPatience bounds the wait when no packets are sent but the CPUs are busy: that may be
	// somebody else's work, which does not end. It is at least cpuShare of the time that building took: the programs of a
	// cluster work on for seconds when thousands of services are in force, or gone.
	cpuPatience = 500 * time.Millisecond
	cpuShare    = 0.1
	// crowd is the number of containers above which the CPUs are always watched.
	crowd = 64
	// tick is the unit of the kernel's clocks of CPU time.
	tick = time.Second / sampler.Ticks
)

// silenceTime bounds the wait for silence.
var silenceTime = 30 * time.Second

// moment is a reading of a network.
type moment struct {
	at      time.Time
	packets uint64 // counted by all devices of the network
	cpu     sampler.Snapshot
	own     float64 // CPU seconds of nettoll's agents
}

// now reads a network's counters.
func (s *session) now(ctx context.Context, links []link) (st moment, err error) {
	st.at = time.Now()
	if st.packets, err = s.crossed(ctx, links); err != nil {
		return st, err
	}
	if st.cpu, err = s.r.cpu.Read(); err != nil {
		return st, err
	}
	for _, m := range s.agents {
		if m.client != nil {
			used, _ := sampler.CPUTime(m.client.PID())
			st.own += used
		}
	}
	return st, nil
}

// crossed returns the number of packets counted by all devices of the network: those of its hosts,
// which have one end of every container's veth pair, or, if the hosts are somebody else's, the
// devices on the paths that nobody else uses.
func (s *session) crossed(ctx context.Context, links []link) (sum uint64, err error) {
	hosts := s.readable()
	for name, path := range hosts {
		all, err := sampler.Packets(path)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		for device, packets := range all {
			if device != "lo" { // daemons talk to each other over lo
				sum += packets
			}
		}
	}
	seen := map[string]bool{}
	for _, l := range links {
		for _, h := range l.hops {
			if len(hosts) > 0 || h.Kind != network.Device || h.Common || h.May || seen[h.Name] {
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

// wake reads the counters of a network that has just been built, and then starts its agents: in the time that this
// takes, its packets show in the counters.
func (s *session) wake(ctx context.Context, v plan.Visit) error {
	limit := s.r.patience(grace)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("its agents did not start within %v", limit))
	defer cancel()
	links, err := s.links(network.Family(v.Cells[0].Family))
	if err != nil {
		return err
	}
	if s.born, err = s.now(ctx, links); err != nil {
		return err
	}
	return ask(endsOf(links), func(_ int, at end) error {
		_, err := at.Agent(ctx)
		return err
	})
}

// settle waits until the network is silent, and returns what that took. patience bounds the wait for the CPUs.
func (s *session) settle(ctx context.Context, v plan.Visit, patience time.Duration) (*record.Settle, error) {
	bound := s.r.patience(silenceTime)
	limit := bound + patience + s.r.patience(grace)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("its counters were not read within %v", limit))
	defer cancel()
	links, err := s.links(network.Family(v.Cells[0].Family))
	if err != nil {
		return nil, err
	}
	began, err := s.now(ctx, links)
	if err != nil {
		return nil, err
	}
	// quiet: since when there are no packets; calm: since when the CPUs are idle, too.
	var quiet, calm *moment
	long := patience > cpuPatience
	from, start, lively, noisy := s.born, began, long || s.lively(v), false // start is from, but not before began
	if lively {
		from = began
	}
	for first := true; ; first = false {
		if (!first || lively) && await.Sleep(ctx, lookTime) != nil {
			return nil, context.Cause(ctx)
		}
		to, err := s.now(ctx, links)
		if err != nil {
			return nil, err
		}
		r, since := s.rest(from, to), start
		switch {
		case r.packets > quietPackets:
			if to.at.Sub(began.at) >= bound {
				return s.settled(began, to, r, false), nil
			}
			quiet, calm, noisy = nil, nil, true
		case long && s.network.Distant:
			// It is about the CPUs of other machines. To read these for all networks that settle at once would keep them busy, so
			// they are given the time.
			quiet = cmp.Or(quiet, &since)
		case first && !lively || r.cpu <= r.tolerance:
			quiet, calm = cmp.Or(quiet, &since), cmp.Or(calm, &since)
		default:
			quiet, calm = cmp.Or(quiet, &since), nil
		}
		switch {
		case calm != nil && (!noisy || to.at.Sub(calm.at) > lookTime*3/2): // otherwise it may be a pause
			return s.settled(began, *calm, r, true), nil
		case quiet != nil && to.at.Sub(quiet.at) >= patience:
			return s.settled(began, *quiet, r, true), nil
		}
		from, start = to, to
	}
}

// patienceAfter bounds the wait for the CPUs after networks of which one took long to build.
func patienceAfter(work time.Duration) time.Duration {
	return min(silenceTime, max(cpuPatience, time.Duration(cpuShare*float64(work))))
}

// lively reports whether a network may be at work without sending packets: it has many containers,
// daemons, or an engine.
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

// rest is the activity of a network that nobody uses.
type rest struct {
	packets   float64 // per second
	cpu       float64 // CPU seconds per second of the machine, beyond its use when idle
	tolerance float64 // how much of cpu counts as none
}

func (s *session) rest(from, to moment) (r rest) {
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return r
	}
	// A few packets in a very short time are not a storm.
	r.packets = float64(to.packets-min(from.packets, to.packets)) / max(seconds, lookTime.Seconds())
	use, err := sampler.Use(from.cpu, to.cpu, seconds)
	if err != nil {
		return r
	}
	r.cpu = max(0, (use.Busy-max(0, to.own-from.own))/seconds-max(0, s.r.idle.Rate()))
	// Each clock may be off by a tick, at either end.
	r.tolerance = quietCPU + tick.Seconds()*math.Sqrt(2*float64(len(use.PerCPU)))/seconds
	return r
}

// settled sums up the activity from began until the network was silent, and the packets since it was built.
func (s *session) settled(began, until moment, r rest, silent bool) *record.Settle {
	wait := until.at.Sub(began.at).Seconds()
	settle := record.Settle{Wait: wait, Packets: until.packets - min(s.born.packets, until.packets), Silent: silent, RestPackets: r.packets}
	if !s.network.Distant { // otherwise they are about this machine
		used := s.rest(began, until).cpu * wait
		settle.CPU, settle.RestCPU = &used, &r.cpu
	}
	return &settle
}

// unsettled warns if a network did not become silent, or if that is not known.
func unsettled(s *record.Settle, unknown error) []record.Warning {
	if unknown != nil {
		return []record.Warning{{Code: record.WarnSilenceUnknown, Text: fmt.Sprintf("it is not known whether the network was silent before the measurement: %s", oneline.Errors(unknown.Error()))}}
	}
	if s == nil || s.Silent {
		return nil
	}
	return []record.Warning{{Code: record.WarnNotSilent, Text: fmt.Sprintf(
		"the network did not become silent: after %s s without traffic its devices still saw %s packets per second", oneline.Number(s.Wait, 3), oneline.Number(s.RestPackets, 3))}}
}

// greetTime bounds the time in which the first packet has to cross a network that reports that it
// is ready. On a busy machine, an end alone may wait some seconds for a CPU.
const greetTime = 10 * time.Second

// greet waits until a packet has crossed between all pairs, in each direction, once per IP version:
// daemons that report that they are connected may not carry packets yet.
func (s *session) greet(ctx context.Context, f network.Family, links []link) error {
	within := s.r.patience(greetTime)
	var pairs []sampler.Pair
	var of []link
	seen := map[[2]platform.Endpoint]bool{}
	for _, l := range links {
		ends := [2]platform.Endpoint{l.client.Endpoint, l.server.Endpoint}
		if seen[ends] { // by another process in the same container
			continue
		}
		seen[ends] = true
		pairs = append(pairs, sampler.Pair{
			Client: l.client, Server: l.server,
			At: netip.AddrPortFrom(l.toServer, uint16(l.spare)), Own: netip.AddrPortFrom(l.atServer, uint16(l.spare)),
		})
		of = append(of, l)
	}
	unmet, err := sampler.Meet(ctx, pairs, within)
	if err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	if unmet != nil {
		l := of[unmet.Pair]
		return fmt.Errorf("%s gets no answer within %v from %s at %s: %s", l.client.Name(), within, l.server.Name(), l.toServer, unmet.Last)
	}
	if s.greeted == nil {
		s.greeted = map[network.Family]bool{}
	}
	s.greeted[f] = true
	return nil
}
