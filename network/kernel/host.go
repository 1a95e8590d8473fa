package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// Host returns the driver of processes of one host without a container network, as in Docker's host
// mode. It is the baseline of every network on one host.
func Host() network.Driver {
	return processes(network.Info{
		Name: "host", Hosts: []int{1},
		About: "a host talks to its own address, as containers in host mode do; the native of one host",
	})
}

// Native returns the driver of the same between two hosts, the baseline there.
func Native() network.Driver {
	return processes(network.Info{
		Name: "native", Hosts: []int{2},
		About: "a host talks to another over the underlay, no container; the native of two hosts",
	})
}

func processes(i network.Info) network.Driver {
	return plumb.Recipe{
		Info:  i,
		Begin: plumb.BeginHosts,
		Build: func(_ context.Context, n *plumb.Network) error {
			n.OnHosts()
			n.Hops = plumb.HostHops
			return nil
		},
	}.Driver()
}
