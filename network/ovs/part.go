package ovs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"nettoll/agent"
	"nettoll/internal/daemon"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// methodCount is the method by which an agent counts what Open vSwitch has carried: counted → network.Count.
const methodCount = "ovs.count"

type counted struct {
	Space string // of the part
	Ports []int
}

// Handlers returns the handlers by which an agent builds, watches and ends one machine's part of networks between
// machines. The programs are those of the machine.
func Handlers() map[string]agent.Handler {
	p := &parts{all: map[string]*build{}, building: map[string]*sync.WaitGroup{}, over: map[string]bool{}}
	all := map[string]agent.Handler{methodCount: agent.Typed(p.count)}
	for i, v := range variants(nil) {
		if v.tunnel == nil {
			continue
		}
		const taken = 2 // numbers of external addresses, by plumb.Host.Join elsewhere
		build := plumb.Handler(v.partNeeds(), p.builder(v, taken+i))
		all[plumb.MethodPart(v.Name)] = func(ctx context.Context, params json.RawMessage) (any, error) {
			var part plumb.Part
			if err := json.Unmarshal(params, &part); err != nil {
				return nil, fmt.Errorf("decode params: %w", err)
			}
			defer p.begin(part.Router).Done()
			return build(ctx, params)
		}
		all[plumb.MethodFault(v.Name)] = agent.Typed(p.fault)
		all[plumb.MethodEnd(v.Name)] = agent.Typed(p.end)
	}
	return all
}

func (v variant) partNeeds() []plumb.Need {
	if v.datapath == userspace {
		return []plumb.Need{plumb.Veth, plumb.Macvlan, plumb.TUN, plumb.Filter}
	}
	return []plumb.Need{plumb.Veth, plumb.Macvlan, plumb.Datapath.Or("ssh:ovs-userspace-vxlan"), v.tunnel.need}
}

// parts are what the agent of a machine has built, by the path of the namespace that stands for the machine.
type parts struct {
	mu       sync.Mutex
	all      map[string]*build
	building map[string]*sync.WaitGroup
	over     map[string]bool // ended while they were built
}

// way is the device by which the namespace that stands for a machine reaches those of the other machines.
const way = "up0"

// builder returns the builder of a machine's part. The namespace that stands for the machine is what a host of the lab is:
// its uplink is a macvlan device of the machine's, by which it reaches those of the other machines.
func (p *parts) builder(v variant, number int) plumb.Builder {
	return func(ctx context.Context, s *plumb.Site, h *plumb.Host) (b plumb.Built, err error) {
		found, err := daemon.Find(nil, programs...)
		if missing, ok := errors.AsType[*platform.Unsupported](err); ok {
			return b, &platform.Unsupported{Feature: "Open vSwitch", Option: missing.Needs(), Remedy: "on that machine: " + getOVS, Err: missing.Err}
		}
		if err != nil {
			return b, err
		}
		if err := v.fits(s); err != nil {
			return b, err
		}
		if err := h.Join(way, number); err != nil {
			return b, err
		}
		for _, one := range s.Hosts {
			one.Host, one.Apart = &joined{one.Host, one.NS, one.Outside(way, number)}, false
		}
		made := &build{tech: v, Network: &plumb.Network{Site: s, Programs: found}, vswitches: []*vswitch{{host: h, programs: found, tied: true}}}
		dir, err := daemon.Detached(&s.Stack)
		if err == nil {
			err = made.everything(ctx, dir)
		}
		if err == nil {
			err = p.keep(h.NS, made)
		}
		if err != nil {
			return b, s.Abandon(ctx, err)
		}
		made.describe(h, &b)
		return b, nil
	}
}

// describe notes what the payload of a machine's containers crosses there.
func (b *build) describe(h *plumb.Host, to *plumb.Built) {
	to.Crossed = map[int][]string{}
	for _, other := range b.Others(h) {
		if b.tech.datapath == kernel {
			to.Crossed[other.Index] = []string{b.tech.tunnel.device}
		}
		to.Crossed[other.Index] = append(to.Crossed[other.Index], way)
		for _, n := range h.Nodes {
			to.Counters = append(to.Counters, plumb.Counter{
				Name: bridge + ":" + n.Port + "-" + b.tech.tunnel.name(other), Kind: network.Rule, Container: n.Index, Other: &other.Index,
				Method: methodCount, Params: counted{h.NS, []int{number(n), b.tech.tunnel.number(other)}},
			})
		}
	}
}

// joined is the namespace that stands for a machine, as a host that others reach by an uplink of its own.
type joined struct {
	platform.Host
	space  string // its path; empty for other machines
	uplink platform.Uplink
}

// Uplink implements platform.Host.
func (j *joined) Uplink() platform.Uplink { return j.uplink }

// Start implements platform.Endpoint.
func (j *joined) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	if j.space == "" {
		return j.Host.Start(ctx, c)
	}
	return nsexec.StartTied(ctx, j.Name(), j.space, os.Environ(), c)
}

// begin notes that a part is being built. Call Done of the result when that is over.
func (p *parts) begin(space string) *sync.WaitGroup {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.over, space)
	p.building[space] = new(sync.WaitGroup)
	p.building[space].Add(1)
	return p.building[space]
}

// keep keeps a part until it is ended. It fails if that has happened already.
func (p *parts) keep(space string, b *build) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over[space] {
		return errors.New("it was ended while it was built")
	}
	p.all[space] = b
	return nil
}

// end ends a part, also if nobody waits any more for the end of its building: when this returns, nothing uses its
// namespaces.
func (p *parts) end(ctx context.Context, space string) (struct{}, error) {
	p.mu.Lock()
	p.over[space] = true
	building := p.building[space]
	p.mu.Unlock()
	if building != nil {
		building.Wait()
	}
	p.mu.Lock()
	b := p.all[space]
	delete(p.all, space)
	delete(p.building, space)
	p.mu.Unlock()
	if b == nil {
		return struct{}{}, nil
	}
	return struct{}{}, b.Close(ctx)
}

func (p *parts) of(space string) (*build, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.all[space]; b != nil {
		return b, nil
	}
	return nil, errors.New("this machine has no Open vSwitch of nettoll's any more")
}

func (p *parts) count(ctx context.Context, c counted) (sum network.Count, err error) {
	b, err := p.of(c.Space)
	if err != nil {
		return sum, err
	}
	return b.vswitches[0].hop("", c.Ports...).Read(ctx)
}

func (p *parts) fault(ctx context.Context, space string) (f plumb.Fault, err error) {
	b, err := p.of(space)
	if err != nil {
		return f, err
	}
	for _, d := range b.Needed {
		if err := d.Fault(); err != nil {
			return plumb.Fault{Broken: err.Error()}, nil
		}
	}
	err = b.check(ctx)
	var wrong *network.WrongPath
	switch {
	case errors.As(err, &wrong):
		f.Finding = wrong.Finding
	case err != nil:
		f.Broken = err.Error()
	}
	return f, nil
}
