package dockerd

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// NetworkSpec says what network is wanted.
type NetworkSpec struct {
	Name       string // nettoll's own; what the engine calls it has the run in front
	Driver     string // bridge, macvlan, ipvlan, overlay
	Subnet4    netip.Prefix
	Subnet6    netip.Prefix // the zero value: IPv4 alone
	Options    map[string]string
	Attachable bool
}

// Network makes a network, which goes with the hosts, and gives the name that a
// container's Mode can have.
func (h *Host) Network(ctx context.Context, s NetworkSpec) (string, error) {
	six := s.Subnet6.IsValid()
	o := client.NetworkCreateOptions{
		Driver: s.Driver, EnableIPv6: &six, Options: s.Options, Labels: h.Engine.label(), Attachable: s.Attachable,
		IPAM: &network.IPAM{Driver: "default"},
	}
	for _, p := range []netip.Prefix{s.Subnet4, s.Subnet6} {
		if p.IsValid() {
			o.IPAM.Config = append(o.IPAM.Config, network.IPAMConfig{Subnet: p})
		}
	}
	name := h.Engine.name(s.Name)
	if err := h.Engine.vacate(ctx, name); err != nil {
		return "", fmt.Errorf("docker: create %s network %s: %w", s.Driver, s.Name, err)
	}
	// Creation goes on when nobody waits for it any more, and nobody would know of it.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), absenceTime)
	defer cancel()
	made, err := h.Engine.Client.NetworkCreate(creating, name, o)
	if err != nil {
		return "", fmt.Errorf("docker: create %s network %s: %w", s.Driver, s.Name, brief(err))
	}
	h.mu.Lock()
	h.networks = append(h.networks, made.ID)
	h.mu.Unlock()
	return name, nil
}

// vacate makes sure that no network has a name. Engines would make a second one. A
// network of this very run is what a crash has left, and removed; any other is not
// touched, and the error.
func (e *Engine) vacate(ctx context.Context, name string) error {
	have, err := e.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	switch {
	case gone(err):
		return nil
	case err != nil:
		return brief(err)
	case have.Network.Labels[Label] != e.Run:
		return fmt.Errorf("the engine has a network %s that is not nettoll's: give it another name", name)
	}
	return e.removeNetwork(ctx, have.Network.ID)
}

// removeNetwork removes a network. Its last container may still be leaving it.
func (e *Engine) removeNetwork(ctx context.Context, id string) error {
	if err := removeNetwork(ctx, e.Client, id); err != nil {
		return fmt.Errorf("docker: remove network: %w", err)
	}
	return nil
}

// Bridge is the device of a bridge network on the engine's host, and whether containers
// of it may talk to each other.
type Bridge struct {
	Device   string
	ICC      bool
	IPv6     bool
	Gateway4 netip.Addr
	Gateway6 netip.Addr
}

// InspectBridge describes a bridge network by its name, such as "bridge".
func (h *Host) InspectBridge(ctx context.Context, name string) (Bridge, error) {
	n, err := h.Engine.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return Bridge{}, fmt.Errorf("docker: inspect network %s: %w", name, brief(err))
	}
	b := Bridge{
		Device: n.Network.Options["com.docker.network.bridge.name"], ICC: n.Network.Options["com.docker.network.bridge.enable_icc"] != "false",
		IPv6: n.Network.EnableIPv6,
	}
	if b.Device == "" {
		b.Device = "br-" + n.Network.ID[:12]
	}
	for _, c := range n.Network.IPAM.Config {
		if c.Gateway.Is4() {
			b.Gateway4 = c.Gateway
		} else if c.Gateway.IsValid() {
			b.Gateway6 = c.Gateway
		}
	}
	return b, nil
}
