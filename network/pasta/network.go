// Package pasta measures ports that the program pasta publishes for containers, as rootless Podman 5 does: without a right on the
// host, pasta reads and writes a container's packets at a tap device, and speaks TCP and UDP with the clients by sockets of its own.
package pasta

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
)

// pasta is the program, of the project passt.
const pasta = "pasta"

// New returns the driver.
func New(paths program.Paths) network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "published-pasta", Hosts: []int{1, 2}, Carried: true, Relays: true, Endpoints: atMost,
			About: "a port of the host, relayed by pasta in user space to a container, as rootless Podman 5 publishes it; the client is a process of a host",
		},
		Needs:    []plumb.Need{plumb.TUN},
		Programs: []daemon.Program{{Name: pasta, Get: platform.Install("passt")}}, Paths: paths,
		Have:  func(context.Context) error { return daemon.Available() },
		Begin: plumb.BeginWith(func(inside *network.Topology) { inside.Clients = 0 }),
		Build: build,
	}.Driver()
}

// atMost is how many containers are worth waiting for: each has a process of its own, which listens at all ports of its server.
const atMost = 100

func build(ctx context.Context, n *plumb.Network) error {
	n.ClientsOnHosts()
	n.Translated, n.Hops = true, hops
	n.ServersAt(func(_, to *plumb.Node, f network.Family) netip.Addr { return to.Host.OnUnderlay(f == network.IPv6) })
	for i, server := range n.Servers {
		if err := publish(ctx, n, i, server); err != nil {
			return err
		}
	}
	if own, err := sampler.ReadCongestion("/proc"); err == nil {
		n.Notes = append(n.Notes, "pasta sends to the clients with the machine's default congestion control, "+own.Own)
	}
	return nil
}

// publish starts the process that connects a server, and waits until the server has its addresses: by then, pasta listens.
func publish(ctx context.Context, n *plumb.Network, i int, server *plumb.Node) error {
	first, last := n.Topo.Ports(i)
	ports := fmt.Sprintf("%d-%d", first, last)
	at := server.Host.Index
	// pasta gives up its rights before it opens the namespace, so it needs a path that anybody may use, in a mount of its own.
	const named = `mount -t tmpfs tmpfs /run && : >/run/container && mount --bind "$1" /run/container && shift && exec "$@"`
	args := []string{
		"--mount", "--propagation", "private", "sh", "-c", named, "sh", netns.Reachable(server.NS), n.Programs[pasta],
		"--foreground", "--stderr", "--quiet", "--runas", "0:0", // root of the lab, with no rights outside
		"--netns", "/run/container", "--config-net", "--interface", server.Host.Uplink().Device,
		"--address", server.Addr4.String(), "--netmask", strconv.Itoa(plumb.Subnet(at, false).Bits()), "--gateway", plumb.Gateway(at, false).String(),
		"--address", server.Addr6.String(), "--gateway", plumb.Gateway(at, true).String(),
		"--no-map-gw", "--tcp-ports", ports, "--udp-ports", ports, "--tcp-ns", "none", "--udp-ns", "none",
	}
	d, err := daemon.Start(ctx, &n.Stack, server.Host, daemon.Spec{
		Name: pasta + " of " + server.Name(), Path: "unshare", Args: args,
		Ready: func(context.Context) error {
			return nl.With(server.NS, func(in *nl.NS) error {
				_, err := in.RouteTo(plumb.Gateway(at, true))
				return err
			})
		},
		Complaint: func(line string) bool { return !strings.Contains(line, "syslog") }, // there need be none; else it says only what is wrong
	})
	if err == nil {
		n.Watch(true, d)
	}
	return err
}

// hops returns the path: nothing but pasta can send to the container's tap device.
func hops(from, to *plumb.Node, _ network.Family) []network.Hop {
	var all []network.Hop
	if from.Host != to.Host {
		all = plumb.UplinkHops(from.Host, to.Host)
	}
	return append(all, to.Hop())
}
