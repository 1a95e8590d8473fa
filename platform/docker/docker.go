// Package docker provides the platforms of Docker engines, and of engines that are nodes of one swarm: engines that
// the user has, or private ones that are started on hosts of the lab and end with it.
package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/atonce"
	"nettoll/internal/bootstrap"
	"nettoll/internal/cgroup"
	"nettoll/internal/netns"
	"nettoll/platform"
)

// Options controls which engines are used.
type Options struct {
	// Run is the id of the run, with which everything that is made is labelled.
	Run   string
	Image engine.Image
	// Dial connects to the user's engines, in the order of hosts. near reports whether the engine may be on this
	// machine, which is then checked.
	Dial []func(context.Context) (c *client.Client, near bool, err error)
	// Names are the user's names of these engines, and At addresses by which their machines reach each other, by these
	// names. Addresses that are not given are found.
	Names []string
	At    map[string]netip.Addr
	// Through says that the user wants traffic to be sent through the network between these machines.
	Through bool
	// Lab provides the hosts that private engines are started on; if it is nil, the user's engines are used.
	Lab platform.Platform
	// Sets is how many sets of private engines are kept at most; 0 is as many as there is memory for.
	Sets int
}

// Docker is the platform.
type Docker struct {
	pulse bootstrap.Pulse // of agents on other machines

	o      Options
	swarm  bool // the engines are nodes of one swarm
	atOnce int  // networks that can stand at once

	mu       sync.Mutex
	borrowed []*engine.Host
	links    []platform.Uplink // of the user's machines, once they are found
	apart    error             // why they have none, once that is known
	places   []*place          // networks on the user's engines
	private  []*set            // the one taken last is the last
	starting int               // sets that are being started
	seen     bool              // the user's engines have been nodes of one swarm
	stood    []string
}

// New returns the platform. It connects when it is probed. Close it after use.
func New(o Options) *Docker { return &Docker{o: o, atOnce: o.atOnce(borrowedAtOnce)} }

// NewSwarm returns the platform of engines that are nodes of one swarm. A swarm of the user's has only one network at a time.
func NewSwarm(o Options) *Docker { return &Docker{o: o, swarm: true, atOnce: o.atOnce(1)} }

// Info implements platform.Platform.
func (d *Docker) Info() platform.Info {
	i := platform.Info{Name: "docker", AtOnce: d.atOnce, Stood: d.Stood, Quiet: d.pulse.Hold}
	if d.swarm {
		i.Name = "swarm"
	}
	return i
}

// Private implements engine.Provider.
func (d *Docker) Private() bool { return d.o.Lab != nil }

// privateAtOnce bounds how many networks can stand at once if engines are started for them.
const privateAtOnce = 8

// borrowedAtOnce is how many networks can stand at once on the user's engines: a network and its baseline, with names and
// ports of their own.
const borrowedAtOnce = 2

// atOnce returns how many networks can stand at once, if that is borrowed on the user's engines. Each network on private
// engines has its own, as many as there is memory for now.
func (o Options) atOnce(borrowed int) int {
	if o.Lab == nil {
		return borrowed
	}
	const hosts = 2
	return min(privateAtOnce, o.mostSets(hosts))
}

// Stood describes the engines: see platform.Info.
func (d *Docker) Stood() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Clone(d.stood)
	if n := len(d.borrowed); n > 0 {
		all = append(all, fmt.Sprintf("%d × dockerd of the user", n))
	}
	return all
}

// Probe implements platform.Platform.
func (d *Docker) Probe(ctx context.Context) error {
	if d.o.Lab != nil {
		return errors.Join(d.o.Lab.Probe(ctx), engine.Available(), rootOfMachine())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.connect(ctx)
	if err == nil && d.swarm {
		_, err = d.find(ctx)
	}
	return err
}

// rootOfMachine fails where dockerd cannot give files to all users.
func rootOfMachine() error {
	if netns.OneUser() {
		return &platform.Unsupported{Feature: "a private Docker engine", Option: "root on this machine itself", Remedy: "run as root, or use an engine that is already running"}
	}
	return nil
}

// connect dials the user's engines, once.
func (d *Docker) connect(ctx context.Context) error {
	for i := len(d.borrowed); i < len(d.o.Dial); i++ {
		c, near, err := d.o.Dial[i](ctx)
		if err != nil {
			return err
		}
		e, here := engine.NewEngine(c, d.o.Run, d.o.Image), false
		if near {
			if here, err = e.Here(ctx); err != nil {
				return errors.Join(err, e.Close(context.WithoutCancel(ctx))) // it may have the image already
			}
		} else if err := e.Suits(ctx); err != nil {
			return errors.Join(err, e.Close(context.WithoutCancel(ctx)))
		}
		if !here {
			e.Silence, e.Pulse = bootstrap.Silence, &d.pulse
		}
		d.borrowed = append(d.borrowed, engine.Borrow(e, i, here))
	}
	return nil
}

// Hosts implements platform.Platform.
func (d *Docker) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	return d.Engines(ctx, req, engine.Settings{})
}

// Engines implements engine.Provider.
func (d *Docker) Engines(ctx context.Context, req platform.HostRequest, s engine.Settings) (*engine.Hosts, error) {
	if req.Count < 1 {
		return nil, fmt.Errorf("docker: %d hosts: at least 1 is needed", req.Count)
	}
	if d.o.Lab != nil {
		return d.start(ctx, req, s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	const remedy = "use --private-engine, which starts engines for the measurement on hosts of the lab"
	switch {
	case s != engine.Settings{}:
		return nil, &platform.Unsupported{Feature: "changing the engine's settings", Option: "an engine with " + s.String(), Remedy: remedy}
	case req.Changed():
		return nil, &platform.Unsupported{Feature: "changing the host of a running engine", Option: "a host that nettoll made", Remedy: remedy}
	case req.Count > len(d.borrowed):
		return nil, &platform.Unsupported{
			Feature: fmt.Sprintf("Docker on %d hosts", req.Count), Option: fmt.Sprintf("%d engines", req.Count),
			Remedy: "name each with --docker-host; or " + remedy,
		}
	}
	if d.swarm {
		s, err := d.find(ctx) // whose manager may be another engine
		if err != nil {
			return nil, err
		}
		hosts := d.borrowed[:req.Count]
		return &engine.Hosts{Docker: hosts, Swarm: s, Apart: d.join(ctx, hosts)}, nil
	}
	p := d.free()
	p.used++
	hosts := p.hosts[:req.Count]
	return &engine.Hosts{Docker: hosts, Apart: d.join(ctx, hosts), Free: sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		p.used--
	})}, nil
}

// place has the user's engines as the hosts of one of the networks that stand on them at once.
type place struct {
	hosts []*engine.Host
	used  int
}

// free returns a place that no network uses. There is always one as long as no more networks are built at once than
// Info allows; the first place is shared otherwise.
func (d *Docker) free() *place {
	for i := range borrowedAtOnce {
		if i == len(d.places) {
			p := &place{hosts: d.borrowed}
			if i > 0 {
				p.hosts = nil
				for _, h := range d.borrowed {
					p.hosts = append(p.hosts, h.Beside(i))
				}
			}
			d.places = append(d.places, p)
		}
		if d.places[i].used == 0 {
			return d.places[i]
		}
	}
	return d.places[0]
}

// Close leaves the user's engines as they were, and ends private ones.
func (d *Docker) Close(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := atonce.Each(-1, d.borrowed, func(i int, h *engine.Host) error { // one that does not answer takes no time from the others
		var errs []error
		for _, p := range d.places {
			errs = append(errs, p.hosts[i].Empty(ctx))
		}
		return errors.Join(append(errs, h.Empty(ctx), h.Engine.Close(ctx))...)
	})
	for _, s := range d.private {
		errs = append(errs, s.close(ctx))
	}
	if d.o.Lab != nil && d.o.Run != "" { // remains of other runs too are left to nettoll clean
		_, _ = cgroup.Sweep(d.o.Run)
	}
	d.borrowed, d.links, d.apart, d.places, d.private = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
