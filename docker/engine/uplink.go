package engine

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"nettoll/agent"
	"nettoll/internal/remote"
	"nettoll/internal/uplink"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// Uplink implements platform.Host. A machine of the user has one only if others take part in its network: otherwise no
// traffic goes through its own devices.
func (h *Host) Uplink() platform.Uplink {
	if h.under == nil {
		return h.link
	}
	return h.under.Uplink()
}

// SetUplink sets the uplink of a machine of the user.
func (h *Host) SetUplink(at platform.Uplink) { h.link = at }

// Agent returns an agent with the network of a host that is another machine.
func (h *Host) Agent(ctx context.Context) (*agent.Client, error) {
	out, err := h.out(ctx)
	if err != nil {
		return nil, err
	}
	return out.first, nil
}

// asked returns what is asked for the addresses and routes of a machine of the user.
func (h *Host) asked(ctx context.Context) (uplink.Asked, error) {
	if h.here {
		return uplink.Here{}, nil
	}
	a, err := h.Agent(ctx)
	if err != nil {
		return nil, err
	}
	return remote.NewHost(h.name, "", a, nil), nil
}

// Machine returns a machine of the user as one of those whose uplinks are found. It has the name by which the user knows
// the engine, and perhaps an address that the user has given. An engine that is reached by TCP shows an address of its
// machine, and so does a node of a swarm.
func (h *Host) Machine(ctx context.Context, name string, given netip.Addr) (uplink.Machine, error) {
	of, err := h.asked(ctx)
	if cerrdefs.IsInvalidArgument(err) || cerrdefs.IsPermissionDenied(err) { // of an engine that remaps users, or has a policy
		err = &platform.Unsupported{
			Feature: "the network of " + name, Option: "containers that have it (docker run --network host)", Err: err,
			Remedy: "--private-engine starts engines on hosts of the lab",
		}
	}
	if err != nil {
		return uplink.Machine{}, err
	}
	m := uplink.Machine{Asked: of, Name: name, Given: given}
	info, err := h.info(ctx)
	if err != nil {
		return m, failed(err, "ask engine %s for its address", h.name)
	}
	if a, err := netip.ParseAddr(info.Info.Swarm.NodeAddr); err == nil {
		m.Reached = append(m.Reached, a.Unmap())
	}
	m.Reached = append(m.Reached, tcpAddresses(ctx, h.Engine.Client.DaemonHost())...)
	return m, nil
}

// lookupTime bounds the wait for the addresses of a name that has just been looked up to reach the engine.
const lookupTime = 2 * time.Second

// tcpAddresses returns the addresses at which an engine is reached by TCP; none for others, and none if they are not known.
func tcpAddresses(ctx context.Context, engine string) []netip.Addr {
	u, err := url.Parse(engine)
	if err != nil || u.Scheme != "tcp" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // which also takes addresses
	return record.Each(found, netip.Addr.Unmap)
}

// nic returns a function that describes the card of the uplink of a machine of the user, or nil if there is none.
func (h *Host) nic() func(context.Context) (record.NIC, error) {
	if h.under != nil || h.link.Device == "" {
		return nil
	}
	device := h.link.Device
	return func(ctx context.Context) (record.NIC, error) {
		if h.here {
			return sampler.NIC(device, "/proc", "/sys")
		}
		a, err := h.Agent(ctx)
		if err != nil {
			return record.NIC{}, err
		}
		return remote.NewHost(h.name, "", a, nil).Card(ctx, device)
	}
}
