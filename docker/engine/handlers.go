package engine

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/internal/wrap"
)

// Methods of the agent.
const (
	methodResolve = "docker.resolve" // string → the IPv4 address that a name has where the agent runs
	methodIPVS    = "docker.ipvs"    // → whether the kernel has virtual servers
	methodShut    = "docker.shut"    // → nothing; see Spec.Near
)

// Handlers returns the agent's handlers.
func Handlers() map[string]agent.Handler {
	return map[string]agent.Handler{
		methodResolve: agent.Typed(func(ctx context.Context, name string) (netip.Addr, error) {
			all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
			if err != nil {
				return netip.Addr{}, err
			}
			return all[0].Unmap(), nil
		}),
		methodIPVS: agent.Typed(func(context.Context, struct{}) (bool, error) { return HasIPVS() }),
		methodShut: agent.Typed(func(context.Context, struct{}) (struct{}, error) { return struct{}{}, shut() }),
	}
}

// shut removes the routes to all but neighbours.
func shut() error {
	return nl.With("", func(n *nl.NS) error { return errors.Join(n.Unroute(nl.Default(false)), n.Unroute(nl.Default(true))) })
}

// HasIPVS reports whether the kernel of this machine has virtual servers, which distribute connections
// to services (CONFIG_IP_VS). It asks for their netlink family, as engines do: a kernel that has them
// as a module loads it.
func HasIPVS() (bool, error) {
	err := nl.HasFamily("", "IPVS")
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// HasIPVS reports the same about the kernel of the engine's machine.
func (h *Host) HasIPVS(ctx context.Context) (has bool, err error) {
	if h.here {
		has, err = HasIPVS()
	} else if out, outErr := h.out(ctx); outErr != nil {
		err = outErr
	} else {
		has, err = agent.Ask[bool](ctx, out, methodIPVS, struct{}{})
	}
	return has, wrap.Error(err, "docker: ask %s for virtual servers", h.name)
}
