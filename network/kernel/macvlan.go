package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// Macvlan returns the driver of containers with macvlan devices in bridge mode on the host's
// uplink: each has an address of its own on the underlay's segment.
func Macvlan() network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "macvlan", Hosts: []int{1, 2},
			About: "macvlan devices (bridge mode) of the host's uplink, one in each container",
		},
		Needs: []plumb.Need{plumb.Macvlan},
		Build: func(ctx context.Context, n *plumb.Network) error {
			return n.Children(ctx, "eth0", plumb.MacvlanBridge)
		},
	}.Driver()
}
