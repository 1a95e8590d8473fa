package dockerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/moby/moby/client"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/nl"
)

// What agents are asked for on a swarm's nodes.
const (
	methodDevice = "dockerd.device" // netip.Addr → name of the device that has the address
	methodIPVS   = "dockerd.ipvs"   // → whether the kernel has virtual servers
	methodShut   = "dockerd.shut"   // → nothing; see Spec.Near
)

// nodeHandlers are the agent's half.
func nodeHandlers() map[string]agent.Handler {
	return map[string]agent.Handler{
		methodDevice: agent.Typed(func(_ context.Context, a netip.Addr) (string, error) { return deviceOf(a) }),
		methodIPVS:   agent.Typed(func(context.Context, struct{}) (bool, error) { return HasIPVS() }),
		methodShut:   agent.Typed(func(context.Context, struct{}) (struct{}, error) { return struct{}{}, shut() }),
	}
}

// Device is the name of the container's device that has an address.
func (c *Container) Device(ctx context.Context, a netip.Addr) (name string, err error) {
	if err := c.first.Call(ctx, methodDevice, a, &name); err != nil {
		return "", fmt.Errorf("%s: %w", c.name, err)
	}
	return name, nil
}

// shut takes the way to everybody but neighbours.
func shut() error {
	return nl.With("", func(n *nl.NS) error { return errors.Join(n.Unroute(nl.Default(false)), n.Unroute(nl.Default(true))) })
}

func deviceOf(a netip.Addr) (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, d := range all {
		addrs, err := d.Addrs()
		if err != nil {
			return "", err
		}
		for _, has := range addrs {
			if p, err := netip.ParsePrefix(has.String()); err == nil && p.Addr() == a {
				return d.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no device has the address %s", a)
}

// HasIPVS says whether the kernel of this machine has virtual servers, which distribute
// connections to services (CONFIG_IP_VS). It asks for their netlink family, as engines
// do: a kernel that has it as a module loads it.
func HasIPVS() (bool, error) {
	_, err := netlink.GenlFamilyGet("IPVS")
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// HasIPVS is the same of the kernel of the engine's machine.
func (h *Host) HasIPVS(ctx context.Context) (has bool, err error) {
	if h.here {
		has, err = HasIPVS()
	} else {
		var out *Container
		if out, err = h.out(ctx); err == nil {
			err = out.first.Call(ctx, methodIPVS, struct{}{}, &has)
		}
	}
	if err != nil {
		return false, fmt.Errorf("docker: ask %s for virtual servers: %w", h.name, err)
	}
	return has, nil
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

// NetworkID is the engine's name for a network of the swarm that it manages.
func (h *Host) NetworkID(ctx context.Context, name string) (string, error) {
	n, err := h.Engine.Client.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return "", fmt.Errorf("docker: inspect network %s: %w", name, brief(err))
	}
	return n.Network.ID, nil
}
