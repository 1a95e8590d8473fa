// Package kubeproxy measures services of Kubernetes: the real kube-proxy on each host translates
// connections to the address of a service, the ClusterIP, to that of a container. It learns of nodes,
// services and endpoints from a real API server with a real etcd, in which their objects are written
// by hand: no kubelet and no container runtime are needed, since the endpoints are containers of the
// lab. Containers are on a bridge with routes between hosts, as with flannel's host-gw.
package kubeproxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/record"
)

// bridge is the bridge of a host's containers.
const bridge = "cni0" // as CNI's bridge plugin calls it

// All returns the driver of each mode of kube-proxy, in the order of reports.
func All(paths program.Paths) []network.Driver {
	modes := []kube.ProxyMode{kube.IPTables, kube.NFTables, kube.IPVS}
	return record.Each(modes, func(m kube.ProxyMode) network.Driver { return driver(m, paths) })
}

func driver(m kube.ProxyMode, paths program.Paths) network.Driver {
	return plumb.Recipe{
		Info: network.Info{
			Name: "kube-proxy-" + m.Name, Hosts: []int{1, 2}, Endpoints: plumb.MaxPorts, Has: []string{record.Services},
			About:   "a service of Kubernetes: " + m.About + " its address to that of a container; a bridge on each host, plain routes between hosts",
			Startup: 5 * time.Second, // of etcd, the API server, and kube-proxy
		},
		Needs: append([]plumb.Need{plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter, plumb.NAT}, m.Needs...),
		Programs: append([]daemon.Program{
			daemon.EtcdProgram, kube.Built(kube.Apiserver), kube.Built(kube.Proxy),
		}, m.Programs...),
		Paths: paths, Have: func(context.Context) error { return daemon.Available() },
		Build: func(ctx context.Context, on *plumb.Network) error {
			n := &build{Network: on, mode: m}
			n.Reach, n.Translated, n.Hops, n.OnWire = n.reach, true, n.hops, onWire
			return n.build(ctx)
		},
	}.Driver()
}

// build is a network whose servers are reached at the addresses of services.
type build struct {
	*plumb.Network
	mode       kube.ProxyMode
	translated plumb.Translations
}

func (n *build) build(ctx context.Context) error {
	for _, h := range n.Site.Hosts {
		if err := n.Bridge(ctx, h, bridge, n.Topo.Underlay.MTU, plumb.Attachment{Gateway: true}); err != nil {
			return err
		}
		// Answers of a server on the bridge of its client must be translated back.
		if err := h.BridgeNetfilter(true); err != nil {
			return err
		}
	}
	if err := n.RouteContainers(); err != nil {
		return err
	}
	var err error
	if n.translated, err = n.CountTranslations("nettoll", n.mode.VirtualServers); err != nil {
		return err
	}
	dir, err := daemon.State(&n.Stack)
	if err != nil {
		return err
	}
	etcd, err := daemon.StartEtcd(ctx, &n.Stack, n.Programs["etcd"], n.Site.Hosts[0], dir)
	if err != nil {
		return err
	}
	n.Watch(false, etcd.Daemon)
	c, err := startServer(ctx, n.Network, etcd, dir)
	if err != nil {
		return err
	}
	n.Watch(false, c.Daemon)
	all := services(n.Network)
	early, last := all, len(n.Servers)-1
	if n.timed() {
		early = slices.Delete(slices.Clone(all), last, last+1)
	}
	if err := c.MakeAll(ctx, atOnce, record.Each(n.Site.Hosts, node)); err != nil {
		return err
	}
	proxies, err := n.serve(ctx, c, early)
	if err != nil {
		return err
	}
	n.Watch(false, proxies...)
	if n.timed() {
		if err := n.timeService(ctx, c, all, proxies); err != nil {
			return err
		}
	}
	return n.freeze(etcd.Daemon, c.Daemon)
}

// freeze stops the programs that clusters run on other machines than those that carry the payload: here they
// would use CPU time while it is measured. kube-proxy continues with what it has learned. They go on before any is
// ended: the API server would wait for etcd.
func (n *build) freeze(daemons ...*daemon.Daemon) error {
	for _, d := range daemons {
		n.Push("continue "+d.String(), func(context.Context) error { return d.Resume() })
	}
	return record.Try(daemons, (*daemon.Daemon).Pause)
}

// onWire matches packets between containers, as they are once translated.
func onWire(f network.Family) string {
	six := f == network.IPv6
	ip := "ip"
	if six {
		ip = "ip6"
	}
	return fmt.Sprintf("%s and src net %[2]s and dst net %[2]s", ip, plumb.Segment(six))
}

// reach returns the address of a server's service, and the own address of any other container.
func (n *build) reach(_, to *plumb.Node, f network.Family) netip.Addr {
	if i := slices.Index(n.Servers, to); i >= 0 {
		return kube.ServiceAddr(i, f == network.IPv6)
	}
	return to.Addr(f)
}

func (n *build) hops(from, to *plumb.Node, f network.Family) []network.Hop {
	hops := []network.Hop{from.Hop(), from.PortHop()}
	if from.Host != to.Host {
		hops = append(hops, from.Host.Hop(bridge, "bridge"))
	}
	if slices.Contains(n.Servers, to) {
		hops = append(hops, n.translated.Hop(from.Host, to, f))
	}
	hops = append(hops, plumb.UplinkHops(from.Host, to.Host)...)
	if from.Host != to.Host {
		hops = append(hops, to.Host.Hop(bridge, "bridge"))
	}
	return append(hops, to.PortHop(), to.Hop())
}
