package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// On a cluster of the user's nothing is known of the nodes but what pods see. Agents in the pods read the counters of
// their own devices; what is between these is examined only if there are agents on the nodes, too (observed).

// borrowed reports whether the cluster is the user's.
func (n *build) borrowed() bool { return n.Hosts[0].Facts().Borrowed }

func (n *build) standing() *network.Network {
	all := n.Standing()
	all.Distant, all.FirstPort, all.NodeDaemons = n.borrowed(), n.Topo.FirstPort, n.daemons
	if n.observed != nil {
		all.Found = n.observed.found
		if n.Translated && n.cluster.Privileged() {
			all.Translator = n.translator
		}
	}
	return all
}

// where names the nodes.
func (n *build) where() string {
	return strings.Join(record.Each(n.cluster.Nodes, func(on *kube.Node) string { return on.Name() + " is the node " + on.As }), ", ")
}

// betweenPods proves that the payload leaves and reaches pods by their devices.
func (n *build) betweenPods(ctx context.Context) error {
	n.Refuse = unlessBoth
	for _, node := range slices.Concat(n.Servers, n.Clients) { // not those with the network of their node, whose packets IP counts, too
		node.Devices.ByIP = true
	}
	n.Notes = []string{n.where() + "; the payload has crossed eth0 of both pods"}
	var beside []string
	for _, node := range slices.Concat(n.Servers, n.Clients) {
		if c, ok := node.Endpoint.(*kube.Container); ok {
			beside = record.AddNew(beside, c.Beside()...)
		}
	}
	if len(beside) > 0 {
		n.Notes = append(n.Notes, "in these pods run containers that are not nettoll's ("+strings.Join(beside, ", ")+
			"), such as those of a service mesh: what they do with the payload is part of the figures (a --namespace without such an injection is without them)")
	}
	if n.cluster.Nodes[0].Agent != nil {
		return n.observe(ctx)
	}
	n.Hops = func(from, to *plumb.Node, _ network.Family) []network.Hop { return []network.Hop{from.Hop(), to.Hop()} }
	n.Unproved = []string{"what carries the payload between the pods is not proved, since nettoll sees only pods (--node-agent shows it)"}
	return nil
}

// unlessBoth refuses IP versions of which pods, or a service, have no address.
func unlessBoth(_, to *plumb.Node, f network.Family, at netip.Addr) error {
	if at.IsValid() {
		return nil
	}
	return &platform.Unsupported{
		Feature: fmt.Sprintf("IPv%d in this cluster", f), Option: "an address of that version for " + to.Name(),
		Remedy: fmt.Sprintf("measure IPv%d alone (-%[1]d)", network.IPv4+network.IPv6-f),
	}
}

// atAddress has clients dial another address than that of a server's pod.
func (n *build) atAddress(reach func(from, to *plumb.Node, f network.Family) netip.Addr) {
	n.Translated = true
	n.ServersAt(reach)
	not := "what translates the addresses that clients dial, and carries the payload between the pods, is not proved, since nettoll sees only pods (--node-agent shows what carries it, --node-privileged also what translates)"
	switch {
	case n.observed != nil && n.cluster.Privileged(): // each trial shows it
		return
	case n.observed != nil:
		not = "what translates the addresses that clients dial is not proved (--node-privileged)"
	}
	n.Unproved = []string{not}
}

// ownPorts is how many ports, counted from the servers' usual first one, are outside both the usual range of nodes' ports
// for services and the ephemeral range.
const ownPorts = 9000

// portsTried is how often ports of nodes are chosen at random, since some of them may be taken.
const portsTried = 10

// atFreePorts makes the services at free ports of the nodes.
func (n *build) atFreePorts(ctx context.Context) error {
	first, last := kube.UsualNodePorts()
	_, size := n.Topo.AllPorts()
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
	usual, size := n.Topo.AllPorts()
	part := max(size, ownPorts/platform.MostPlaces)
	n.Topo.FirstPort = usual + n.cluster.Place()*part + rand.IntN(max(1, part-size))
}

// answerTime bounds the wait for a server's answer at a port of its node, which may not lead to the server.
const answerTime = 20 * time.Second

// answered tries the ports of nodes, and refuses IP versions over which nothing translates them: not all CNI plugins do.
func (n *build) answered(ctx context.Context) error {
	lacks, err := n.greetOver(ctx, n.dialled(), answerTime)
	if err != nil {
		return fmt.Errorf("try ports of nodes: %w", err)
	}
	n.Refuse = func(from, to *plumb.Node, f network.Family, at netip.Addr) error {
		if un := lacks[f]; un != nil && slices.Contains(n.Servers, to) {
			return &platform.Unsupported{
				Feature: fmt.Sprintf("a pod's hostPort over IPv%d in this cluster", f), Option: "CNI plugins that translate it, such as portmap: " + un.text,
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
