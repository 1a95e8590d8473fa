package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/emulated"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
)

// On a cluster of the user's nothing is known of the nodes but what pods see. Agents in the pods read the counters of
// their own devices; what is between these is not examined.

// borrowed reports whether the cluster is the user's.
func (n *build) borrowed() bool { return n.Hosts[0].Facts().Borrowed }

func (n *build) standing() *network.Network {
	all := n.Standing()
	all.Distant, all.FirstPort = n.borrowed(), n.Topo.FirstPort
	return all
}

// where names the nodes.
func (n *build) where() string {
	var all []string
	for _, node := range n.cluster.Nodes {
		all = append(all, node.Name()+" is the node "+node.As)
	}
	return strings.Join(all, ", ")
}

// betweenPods proves that the payload leaves and reaches pods by their devices.
func (n *build) betweenPods() {
	n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop { return []network.Hop{from.Hop(), to.Hop()} }
	n.Refuse = unlessBoth
	n.Notes = []string{n.seen("what carries it between them is not proved")}
}

// seen says what pods see of the path, and what of it is not proved.
func (n *build) seen(not string) string {
	return n.where() + "; eth0 of both pods has counted the payload; " + not + ", since nettoll sees only pods"
}

// unlessBoth refuses IP versions of which pods, or a service, have no address.
func unlessBoth(_, to *plumb.Node, f network.Family, at netip.Addr) error {
	if at.IsValid() {
		return nil
	}
	return &platform.Unsupported{
		Feature: "IPv" + strconv.Itoa(int(f)) + " in this cluster", Option: "an address of that version for " + to.Name(), Remedy: "leave out -" + strconv.Itoa(int(f)),
	}
}

// atAddress has clients dial another address than that of a server's pod.
func (n *build) atAddress(reach func(from, to *plumb.Node, f network.Family) netip.Addr) {
	n.Translated = true
	n.Reach = func(from, to *plumb.Node, f network.Family) netip.Addr {
		if slices.Contains(n.Servers, to) {
			return reach(from, to, f)
		}
		return to.Addr(f)
	}
	n.Notes = []string{n.seen("what translates the addresses that clients dial, and carries the payload between the pods, is not proved")}
}

// ownPorts is how many ports, counted from the servers' usual first one, are outside both the usual range of nodes' ports
// for services and the ephemeral range.
const ownPorts = 9000

// ports returns the first of the servers' ports, and how many there are.
func (n *build) ports() (first, size int) {
	first, _ = n.Topo.Ports(0)
	_, last := n.Topo.Ports(n.Topo.Servers - 1)
	return first, last - first + 1
}

// portsTried is how often ports of nodes are chosen at random, since some of them may be taken.
const portsTried = 10

// atFreePorts makes the services at free ports of the nodes.
func (n *build) atFreePorts(ctx context.Context) error {
	first, last := kube.UsualNodePorts()
	_, size := n.ports()
	var err error
	for range portsTried {
		if last-first+1 < size {
			return &platform.Unsupported{
				Feature: fmt.Sprintf("%d ports of nodes", size), Option: fmt.Sprintf("a range of more than those from %d to %d", first, last), Remedy: "use fewer clients",
			}
		}
		n.Topo.FirstPort = first + rand.IntN(last-first-size+2)
		err = n.exposeAll(ctx, kube.NodePort)
		var taken *kube.PortsTaken
		if !errors.As(err, &taken) {
			return err
		}
		if taken.Last > 0 {
			first, last = taken.First, taken.Last
		}
		if err := n.cluster.Withdraw(ctx); err != nil {
			return err
		}
	}
	return err
}

// atOwnPorts chooses ports of the nodes for servers that listen there, or whose pods have ports of their node. They are
// random, since other programs have ports there, too, and another nettoll would otherwise have the same ones.
func (n *build) atOwnPorts() {
	usual, size := n.ports()
	part := max(size, ownPorts/platform.MostPlaces)
	n.Topo.FirstPort = usual + n.cluster.Place()*part + rand.IntN(max(1, part-size))
}

// greet has a client on each of the clients' nodes greet its server over an IP version, and returns what was seen last if
// there is no answer in time.
func (n *build) greet(ctx context.Context, f network.Family, within time.Duration) (last string, err error) {
	var pairs []sampler.Pair
	for i, client := range n.Clients[:min(len(n.Clients), max(1, len(n.Hosts)-1))] {
		place := n.Topo.Pair(i)
		server := n.Servers[place]
		port, _ := n.Topo.Ports(place)
		pairs = append(pairs, sampler.Pair{
			Client: n.containers[client], Server: n.containers[server],
			At: netip.AddrPortFrom(n.Reach(client, server, f), uint16(port)), Own: netip.AddrPortFrom(server.Addr(f), uint16(port)),
		})
	}
	unmet, err := sampler.Meet(ctx, pairs, emulated.Patience(within))
	if unmet != nil {
		last = fmt.Sprintf("%s does not answer within %v, %s", pairs[unmet.Pair].At.Addr(), within, unmet.Last)
	}
	return last, err
}

// dialled reports whether the first pair has addresses of an IP version.
func (n *build) dialled(f network.Family) bool {
	client, server := n.Clients[0], n.Servers[0]
	return server.Addr(f).IsValid() && n.Reach(client, server, f).IsValid()
}

// behindFurther waits until the services of the servers answer, if there are further services. It asks over one IP version,
// since both take the same time.
func (n *build) behindFurther(ctx context.Context) error {
	f := network.IPv4
	if !n.dialled(f) {
		f = network.IPv6
	}
	if n.Topo.Services == 0 || !n.dialled(f) {
		return nil
	}
	last, err := n.greet(ctx, f, kube.ProxyPatience(n.Topo.Services))
	if err == nil && last != "" {
		err = errors.New(last)
	}
	if err != nil {
		return fmt.Errorf("with %d further services: %w", n.Topo.Services, err)
	}
	return nil
}

// answerTime bounds the wait for a server's answer at a port of its node, which may not lead to the server.
const answerTime = 5 * time.Second

// answered tries the ports of nodes, and refuses IP versions over which nothing translates them: not all CNI plugins do.
func (n *build) answered(ctx context.Context) error {
	lacks := map[network.Family]*string{network.IPv4: new(string), network.IPv6: new(string)}
	trying, within := errgroup.WithContext(ctx)
	for f, last := range lacks {
		if n.dialled(f) {
			trying.Go(func() (err error) { *last, err = n.greet(within, f, answerTime); return err })
		}
	}
	if err := trying.Wait(); err != nil {
		return fmt.Errorf("try ports of nodes: %w", err)
	}
	n.Refuse = func(from, to *plumb.Node, f network.Family, at netip.Addr) error {
		if last := *lacks[f]; last != "" && slices.Contains(n.Servers, to) {
			return &platform.Unsupported{
				Feature: fmt.Sprintf("a pod's hostPort over IPv%d in this cluster", f), Option: "CNI plugins that translate it, such as portmap: " + last,
				Remedy: "add portmap to the CNI configuration of the nodes, or leave kubernetes:hostport out",
			}
		}
		return unlessBoth(from, to, f, at)
	}
	return nil
}

// addrOf returns the address of a node.
func (n *build) addrOf(on *plumb.Node, f network.Family) netip.Addr {
	if n.borrowed() {
		return n.containers[on].Pod().HostAddr(f == network.IPv6)
	}
	return on.Host.OnUnderlay(f == network.IPv6)
}

// onNodes proves that the payload crosses the devices by which the nodes reach each other, or lo within a node.
func (n *build) onNodes(ctx context.Context) error {
	n.Refuse = unlessBoth
	n.atOwnPorts()
	if len(n.Hosts) == 1 {
		n.Hops = plumb.LoopbackHops
		n.Notes = append(n.Notes, n.where()+": its lo has counted the payload")
		return nil
	}
	for _, pair := range [][2][]*plumb.Node{{n.Servers, n.Clients}, {n.Clients, n.Servers}} {
		for _, node := range pair[0] {
			device, err := n.containers[node].DeviceTo(ctx, pair[1][0].Addr4, pair[1][0].Addr6)
			if err != nil {
				return fmt.Errorf("%s: %w", node.Name(), err)
			}
			node.Device = device
		}
	}
	n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop { return []network.Hop{from.Hop(), to.Hop()} }
	n.Notes = append(n.Notes, n.where()+"; their network cards have counted the payload")
	return nil
}
