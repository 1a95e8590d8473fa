package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"nettoll/internal/netns"
	"nettoll/record"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/prometheus/procfs"
)

// NetworkSpec describes the network to make.
type NetworkSpec struct {
	Name       string // nettoll's name; the engine's name of it has the run as prefix
	Driver     string // bridge, macvlan, ipvlan, overlay
	Subnet4    netip.Prefix
	Subnet6    netip.Prefix // the zero value: only IPv4
	Options    map[string]string
	Attachable bool
}

// Network makes a network, which is removed with the hosts, and returns its name for a container's
// Mode.
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
	name := h.fullName(s.Name)
	if err := h.Engine.vacate(ctx, name); err != nil {
		return "", fmt.Errorf("docker: create %s network %s: %w", s.Driver, s.Name, err)
	}
	// The engine continues creating it even if nobody waits any more.
	creating, cancel := context.WithTimeout(context.WithoutCancel(ctx), absenceTime)
	defer cancel()
	made, err := h.Engine.Client.NetworkCreate(creating, name, o)
	if err != nil {
		h.Engine.late(name, err)
		return "", occupied(failed(err, "create %s network %s", s.Driver, s.Name))
	}
	h.holds(networksLast, h.Engine.removal(Object{Kind: "network", Name: s.Name, id: made.ID}))
	return name, nil
}

// WhoHasAddresses says how to find the networks that have the addresses that another one needs.
const WhoHasAddresses = "nettoll clean lists what killed runs have left, docker network ls the others"

// Occupied reports whether a network could not be made because others have its addresses, or all that there are.
func Occupied(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "overlap") || strings.Contains(err.Error(), "address pool"))
}

// occupied adds to such an error what would fix it.
func occupied(err error) error {
	if !Occupied(err) {
		return err
	}
	return fmt.Errorf("%w; %s", err, WhoHasAddresses)
}

// vacate makes sure that no network has the given name, since an engine would make a second one. A
// network of the same run is left from a crash, and is removed with the services that are still using it. Any other network
// is not touched, and is an error.
func (e *Engine) vacate(ctx context.Context, name string) error {
	have, err := e.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	switch {
	case gone(err):
		return nil
	case err != nil:
		return brief(err)
	case have.Network.Labels[Label] != e.Run:
		return fmt.Errorf("the engine has a network %s that is not nettoll's: give it another name", name)
	case have.Network.Scope == "swarm":
		if err := e.dismiss(ctx); err != nil {
			return err
		}
	}
	return Object{Kind: "network", Name: name, id: have.Network.ID}.remove(ctx, e.Client)
}

// dismiss removes the services that other processes of the run have left on the swarm that the engine manages. Services
// outlive these processes, unlike containers.
func (e *Engine) dismiss(ctx context.Context) error {
	all, err := services(ctx, e.Client, true)
	if err != nil {
		return brief(err)
	}
	return record.Try(all, func(o Object) error {
		if o.Run != e.Run || o.process == e.process {
			return nil
		}
		o.Kind = "service"
		return o.remove(ctx, e.Client)
	})
}

// NetworkID returns the engine's id of a network of the swarm that it manages.
func (h *Host) NetworkID(ctx context.Context, name string) (string, error) {
	n, err := h.Engine.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return "", failed(err, "inspect network %s", name)
	}
	return n.Network.ID, nil
}

// Bridge returns the device of a bridge network on the engine's host, by the network's name, such as
// "bridge".
func (h *Host) Bridge(ctx context.Context, name string) (device string, err error) {
	n, err := h.Engine.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return "", failed(err, "inspect network %s", name)
	}
	switch v, err := h.Engine.Podman(ctx); {
	case err != nil:
		return "", err
	case v != "":
		device, err := h.Engine.podmanBridge(ctx, n.Network.ID)
		if err != nil {
			return "", failed(err, "inspect network %s of Podman", name)
		}
		return device, nil
	}
	return cmp.Or(n.Network.Options["com.docker.network.bridge.name"], "br-"+n.Network.ID[:12]), nil
}

// Gateways returns the addresses that a bridge network's device has on the engine's host, or will have once there is a container:
// Podman makes the device with the first one. There are none if the engine does not know them.
func (h *Host) Gateways(ctx context.Context, name string) (all []netip.Addr, err error) {
	n, err := h.Engine.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return nil, failed(err, "inspect network %s", name)
	}
	for _, c := range n.Network.IPAM.Config {
		if c.Gateway.IsValid() {
			all = append(all, c.Gateway)
		}
	}
	return all, nil
}

// Sandbox returns the path of a network namespace that the engine has hidden, by the engine's name of
// it. It is "" if it cannot be reached from here.
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

// Unencrypted returns how many packets the kernel of a host has dropped because a policy requires
// encryption and there is no IPsec state for it (XfrmOutNoStates of /proc/net/xfrm_stat). It is 0 if
// they are not counted.
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
