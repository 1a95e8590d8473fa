package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// Loopback returns the driver of a host that talks to itself.
func Loopback() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "loopback", Hosts: []int{1},
			About: "a host talks to itself over 127.0.0.1 or ::1; no container, no network device but lo",
		},
		Begin: plumb.BeginHosts,
		Build: func(_ context.Context, n *plumb.Network) error {
			n.OnHosts()
			n.Reach, n.Hops = plumb.OverLoopback, plumb.LoopbackHops
			return nil
		},
	}.Driver()
}
