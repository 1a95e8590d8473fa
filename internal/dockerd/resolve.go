package dockerd

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"

	"nettoll/agent"
)

// methodResolve asks an agent what IPv4 address a name has where it runs.
const methodResolve = "dockerd.resolve" // string → netip.Addr

// Handlers are the agent's half.
func Handlers() map[string]agent.Handler {
	all := nodeHandlers()
	maps.Copy(all, map[string]agent.Handler{
		methodResolve: agent.Typed(func(ctx context.Context, name string) (netip.Addr, error) {
			all, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
			if err != nil {
				return netip.Addr{}, err
			}
			return all[0].Unmap(), nil
		}),
	})
	return all
}

// Resolve is the IPv4 address that a name has in the container.
func (c *Container) Resolve(ctx context.Context, name string) (a netip.Addr, err error) {
	if err := c.first.Call(ctx, methodResolve, name, &a); err != nil {
		return a, fmt.Errorf("%s: %w", c.name, err)
	}
	return a, nil
}
