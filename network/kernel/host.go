package kernel

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/network"
)

// Host is what has no container network on one host, as Docker's host mode: processes of the
// host itself. It is the baseline of every network on one host.
func Host() network.Driver {
	return processes(network.Info{
		Name: "host", Hosts: []int{1},
		About: "a host talks to its own address, as containers in host mode do; the native of one host",
	})
}

// Native is the same between two hosts, and the baseline there.
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
			// The kernel sends what a host says to its own address over lo.
			n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop {
				if from.Host == to.Host {
					return []network.Hop{from.LoopbackHop(), plumb.Absent(from.Host.UplinkHop())}
				}
				return []network.Hop{from.Host.UplinkHop(), to.Host.UplinkHop()}
			}
			return nil
		},
	}.Driver()
}
