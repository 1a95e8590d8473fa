package kubernetes

import (
	"fmt"

	"nettoll/internal/plumb"
	"nettoll/record"
)

// Several networks of a cluster stand at once. Pods and services have names and addresses of their own (kube.Cluster.Beside);
// ports of nodes and rules are the network's.

// apart gives the servers ports that no other network on the private cluster has at the same time: some servers listen on
// the nodes themselves, and kube-proxy translates ports of the nodes for others. On the user's cluster ports are random.
func (n *build) apart() error {
	if n.borrowed() {
		return nil
	}
	var err error
	n.Topo, err = n.Topo.Beside(n.cluster.Place(), record.LastPort)
	return err
}

// table is the name of the firewall table with the network's own rules.
func (n *build) table() string {
	if place := n.cluster.Place(); place > 0 {
		return fmt.Sprintf("nettoll%d", place)
	}
	return "nettoll"
}

// onNodesOfOthers marks the hops as common. They are devices of the nodes: the cluster's own programs use them, and packets
// of pods cross them, although the paths of networks between pods need not name them.
func (n *build) onNodesOfOthers() { n.Hops = plumb.Common(n.Hops) }
