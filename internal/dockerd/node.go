package dockerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/client"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/nl"
)

// What agents are asked for on a swarm's nodes.
const (
	methodDevice = "dockerd.device" // netip.Addr → name of the device that has the address
	methodKnock  = "dockerd.knock"  // knocking → knocked
	methodIPVS   = "dockerd.ipvs"   // → whether the kernel has virtual servers
)

// nodeHandlers are the agent's half.
func nodeHandlers() map[string]agent.Handler {
	return map[string]agent.Handler{
		methodDevice: agent.Typed(func(_ context.Context, a netip.Addr) (string, error) { return deviceOf(a) }),
		methodKnock:  agent.Typed(knock),
		methodIPVS:   agent.Typed(func(context.Context, struct{}) (bool, error) { return HasIPVS() }),
	}
}

// Device is the name of the container's device that has an address.
func (c *Container) Device(ctx context.Context, a netip.Addr) (name string, err error) {
	if err := c.first.Call(ctx, methodDevice, a, &name); err != nil {
		return "", fmt.Errorf("%s: %w", c.name, err)
	}
	return name, nil
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

// knocking asks for connections to a port until something answers.
type knocking struct {
	To     netip.AddrPort
	Within time.Duration
}

// knocked is what came of it.
type knocked struct {
	Answered bool
	Last     string // what was seen last, where nothing answered
}

// knockTime is how long one connection may take; between two of them is knockPause.
const (
	knockTime  = 500 * time.Millisecond
	knockPause = 50 * time.Millisecond
)

// knock connects until the other end accepts or refuses: either proves that packets
// arrive there and come back.
func knock(ctx context.Context, k knocking) (knocked, error) {
	ctx, cancel := context.WithTimeout(ctx, k.Within)
	defer cancel()
	d := net.Dialer{Timeout: knockTime}
	for last := "nothing was sent"; ; {
		conn, err := d.DialContext(ctx, "tcp", k.To.String())
		switch {
		case err == nil:
			conn.Close()
			return knocked{Answered: true}, nil
		case errors.Is(err, unix.ECONNREFUSED):
			return knocked{Answered: true}, nil
		case ctx.Err() == nil:
			last = err.Error()
		}
		select {
		case <-ctx.Done():
			return knocked{Last: last}, nil
		case <-time.After(knockPause):
		}
	}
}

// Knock says whether packets from the container arrive at an address and answers come
// back, for which it waits. Port is best one that nobody listens on. Where nothing
// answers, last is what was seen last.
func (c *Container) Knock(ctx context.Context, at netip.AddrPort, within time.Duration) (answered bool, last string, err error) {
	return knockBy(ctx, c.name, c.first, at, within)
}

// Knock is the same from the host itself.
func (h *Host) Knock(ctx context.Context, at netip.AddrPort, within time.Duration) (answered bool, last string, err error) {
	a, err := agent.Start(ctx, h)
	if err != nil {
		return false, "", err
	}
	defer a.Close()
	return knockBy(ctx, h.name, a, at, within)
}

func knockBy(ctx context.Context, name string, a *agent.Client, at netip.AddrPort, within time.Duration) (bool, string, error) {
	var k knocked
	if err := a.Call(ctx, methodKnock, knocking{To: at, Within: within}, &k); err != nil {
		return false, "", fmt.Errorf("%s: %w", name, err)
	}
	return k.Answered, k.Last, nil
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
