package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"nettoll/agent"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/sampler"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/prometheus/procfs"
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
		return "", failed(err, "create %s network %s", s.Driver, s.Name)
	}
	h.mu.Lock()
	h.networks = append(h.networks, Object{Kind: "network", Name: s.Name, id: made.ID})
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
	return Object{Kind: "network", Name: name, id: have.Network.ID}.remove(ctx, e.Client)
}

// NetworkID is the engine's name for a network of the swarm that it manages.
func (h *Host) NetworkID(ctx context.Context, name string) (string, error) {
	n, err := h.Engine.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return "", failed(err, "inspect network %s", name)
	}
	return n.Network.ID, nil
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
		return Bridge{}, failed(err, "inspect network %s", name)
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

// Sandbox is the path of a network namespace that the engine has hidden, by the name
// that the engine gives it. It is empty where it cannot be reached from here.
func (h *Host) Sandbox(name string) string {
	if !h.reachable() {
		return ""
	}
	path := filepath.Join(h.sandboxes, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// InterfacesIn lists the network devices of a namespace that Sandbox has given.
func InterfacesIn(path string) (all []nl.Interface, err error) {
	err = nl.With(path, func(n *nl.NS) error {
		all, err = n.Interfaces()
		return err
	})
	return all, err
}

// Unencrypted is how many packets the kernel of a host has dropped because a policy
// wants them encrypted and no IPsec state says how (XfrmOutNoStates of
// /proc/net/xfrm_stat). It is 0 where nobody counts them.
func (h *Host) Unencrypted() (packets uint64) {
	if !h.reachable() {
		return 0
	}
	_ = netns.Do(h.NetNS(), func() error {
		fs, err := procfs.NewFS("/proc/thread-self")
		if err != nil {
			return err
		}
		counts, err := fs.NewXfrmStat()
		packets = uint64(counts.XfrmOutNoStates)
		return err
	})
	return packets
}

// Pair is a client, which may be the host itself, and a container that are to meet.
type Pair struct {
	From      *Host
	Container *Container // of the client; nil: the host itself
	To        *Container
	At        netip.AddrPort // where the client reaches the other; a port on which nobody listens
	Own       netip.AddrPort // what that is at the other
}

// Meet waits until packets cross between all pairs, both ways; see sampler.Meet.
func Meet(ctx context.Context, pairs []Pair, within time.Duration) (unmet *sampler.Unmet, err error) {
	outside := map[*Host]*agent.Client{}
	defer func() {
		for _, a := range outside {
			err = errors.Join(err, a.Close())
		}
	}()
	all := make([]sampler.Pair, len(pairs))
	for i, p := range pairs {
		all[i] = sampler.Pair{Server: p.To.first, At: p.At, Own: p.Own}
		if p.Container != nil {
			all[i].Client = p.Container.first
			continue
		}
		if outside[p.From] == nil {
			a, err := agent.Start(ctx, p.From)
			if err != nil {
				return nil, err
			}
			outside[p.From] = a
		}
		all[i].Client = outside[p.From]
	}
	unmet, err = sampler.Meet(ctx, all, within)
	if err != nil {
		err = fmt.Errorf("docker: %w", err)
	}
	return unmet, err
}
