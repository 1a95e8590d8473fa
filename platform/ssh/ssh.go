// Package ssh provides the platform of machines that the user reaches by ssh. Nothing is installed there: an agent comes
// over the connection, starts everything else, and takes it away again when the connection ends.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/bootstrap"
	"nettoll/internal/remote"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Options are the machines and how they are used.
type Options struct {
	// Targets are the machines, as ssh takes them, in the order of hosts.
	Targets []string
	Sudo    bool // the agents run as root, by sudo
	// At are the addresses by which the machines reach each other, by target. For machines that are not named here,
	// they are found.
	At     map[string]netip.Addr
	Agents *bootstrap.Agents
	// Tools are sent to machines that lack them; nil: none are.
	Tools *bootstrap.Tools
}

// SSH is the platform.
type SSH struct {
	o              Options
	beat, patience time.Duration // see bootstrap.Beating
	pulse          bootstrap.Pulse

	mu       sync.Mutex
	machines []*machine // logged in to, in order; nil at first
	places   platform.Places
}

// New returns the platform. It logs in when it is probed. Close it after use.
func New(o Options) *SSH { return &SSH{o: o, beat: bootstrap.Beat, patience: bootstrap.Silence} }

// Info implements platform.Platform. Networks share the machines, with ports, and numbers of tunnels, of their own.
func (s *SSH) Info() platform.Info {
	return platform.Info{Name: "ssh", AtOnce: platform.MostPlaces, Stood: s.Stood, Quiet: s.pulse.Hold}
}

// Stood describes the machines: see platform.Info.
func (s *SSH) Stood() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return record.Each(s.machines, func(m *machine) string { return s.places.With(m.About) })
}

// Probe implements platform.Platform.
func (s *SSH) Probe(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reach(ctx)
}

// reach logs in to machines that are not logged in to, or whose agent has ended.
func (s *SSH) reach(ctx context.Context) error {
	if len(s.o.Targets) == 0 {
		return &platform.Unsupported{Feature: "networks between machines over ssh", Option: "machines", Remedy: "name your machines with --hosts-ssh a,b"}
	}
	if !slices.ContainsFunc(s.machines, (*machine).lost) && s.machines != nil {
		return nil
	}
	all := make([]*machine, len(s.o.Targets))
	err := atonce.All(ctx, -1, s.o.Targets, func(_ context.Context, i int, target string) error {
		if i < len(s.machines) && !s.machines[i].lost() {
			all[i] = s.machines[i]
			return nil
		}
		l, err := s.connect(ctx, fmt.Sprintf("h%d", i+1), target)
		all[i] = l
		return err
	})
	if err == nil {
		err = s.join(ctx, all)
	}
	if err != nil {
		for i, h := range all {
			if h != nil && (i >= len(s.machines) || s.machines[i] != h) {
				err = errors.Join(err, h.close())
			}
		}
		return err
	}
	s.machines = all
	return nil
}

// Hosts implements platform.Platform.
func (s *SSH) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	return s.Machines(ctx, req)
}

// Machines implements remote.Provider.
func (s *SSH) Machines(ctx context.Context, req platform.HostRequest) (*remote.Hosts, error) {
	if req.Count < 1 {
		return nil, fmt.Errorf("ssh: %d hosts: at least 1 is needed", req.Count)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case req.Changed():
		return nil, &platform.Unsupported{
			Feature: "changing the link between machines of your own, or their firewall", Option: "hosts that nettoll made",
			Remedy: "leave --underlay, --mtu and --rules out, or measure this in the lab",
		}
	case req.Count > len(s.o.Targets):
		return nil, &platform.Unsupported{
			Feature: fmt.Sprintf("ssh on %d hosts", req.Count), Option: fmt.Sprintf("%d machines", req.Count),
			Remedy: "name each with --hosts-ssh",
		}
	}
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	place, ok := s.places.Take()
	if !ok {
		return nil, fmt.Errorf("ssh: %d networks stand on the machines already", platform.MostPlaces)
	}
	h := &remote.Hosts{Left: sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.places.Free(place)
	})}
	for _, m := range s.machines[:req.Count] {
		h.Machines = append(h.Machines, m.Beside(place))
	}
	return h, nil
}

// Send sends a program to all machines that lack it: see platform.Facts. It is not an error if a machine cannot get it.
func (s *SSH) Send(ctx context.Context, path string, alone bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return atonce.All(ctx, -1, s.machines, func(_ context.Context, _ int, m *machine) error {
		if _, err := m.Host.Send(ctx, path, alone); err != nil && !errors.Is(err, platform.ErrUnsupported) {
			return fmt.Errorf("send %s: %w", path, err)
		}
		return nil
	})
}

// Agents returns the agents of the machines.
func (s *SSH) Agents() []network.Agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return record.Each(s.machines, func(m *machine) network.Agent { return m })
}

// Swept is what runs have left on a machine.
type Swept struct {
	Target string // as the user named it
	Left   []remote.Left
	Err    error
}

// Sweep lists what killed runs have left on each machine, and removes it if that is asked for. It logs in to one after
// the other, since two names may be those of one machine, where its own agents would be found.
func (s *SSH) Sweep(ctx context.Context, how remote.Sweep) (all []Swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, target := range s.o.Targets {
		one := Swept{Target: target}
		m, err := s.connect(ctx, target, target)
		if one.Err = err; err == nil {
			one.Left, err = m.Sweep(ctx, how)
			one.Err = errors.Join(err, m.close())
		}
		all = append(all, one)
	}
	return all
}

// Close ends the agents.
func (s *SSH) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := atonce.All(ctx, -1, s.machines, func(_ context.Context, _ int, m *machine) error { return m.close() })
	s.machines = nil
	return err
}

// lost reports whether the agent has ended.
func (m *machine) lost() bool { return m.Err() != nil }
