package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"nettoll/network"
	"nettoll/sampler"
)

// Agents on nodes of the user's read the counters of the nodes' devices, before and after payload crosses them. Each is in a
// pod that differs from others only in that it has the network of its node and, if the user wants to know the CPU time of
// daemons, sees the node's processes (hostPID). It reads the names of these, and the CPU time of those in daemons. If the user
// lets it, it runs as root and may ask the kernel which connections it translates (CAP_NET_ADMIN), and which BPF programs run
// (CAP_SYS_ADMIN).

// daemons are programs that run on nodes of clusters, by the names that the kernel gives their processes (at most 15
// characters): Kubernetes and container runtimes, then what connects pods, and its helpers.
var daemons = []string{
	"kubelet", "kube-proxy", "containerd", "dockerd", "crio", "k3s-server", "k3s-agent", "k0s", "rke2", "kubelite",
	"flanneld", "calico-node", "calico-felix", "bird", "bird6", "confd", "cilium-agent", "cilium-envoy", "cilium-health-r",
	"ovs-vswitchd", "ovsdb-server", "ovn-controller", "ovnkube", "kube-ovn-daemon", "antrea-agent", "kube-router", "weaver", "kindnetd",
	"multus-daemon", "aws-k8s-agent", "azure-cns", "netd", "node-cache", "ip-masq-agent", "wireguard-go",
}

// Expectable is what may be expected to carry payload between nodes: kinds of tunnels, as the kernel names their devices, or
// ExpectPlain.
var Expectable = []string{"vxlan", "geneve", "ipip", "wireguard", ExpectPlain}

// ExpectPlain means that no tunnel carries the payload.
const ExpectPlain = "plain"

// Expect is what the user expects to carry payload between the nodes, one of Expectable; "" is anything.
func (c *Cluster) Expect() string {
	if c.own == nil {
		return ""
	}
	return c.own.o.Expect
}

// Privileged reports whether agents on the nodes may see what these translate, and which BPF programs run there.
func (c *Cluster) Privileged() bool { return c.own != nil && c.own.o.NodePrivileged }

// notes are what was found out once about each of several things.
type notes struct {
	mu  sync.Mutex
	all map[string]string
}

// Once returns what find has returned for a key in the run. Of all networks on the cluster, one at a time finds something.
func (c *Cluster) Once(key string, find func() (string, error)) (text string, err error) {
	n := &c.own.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	text, known := n.all[key]
	if known {
		return text, nil
	}
	if text, err = find(); err == nil {
		if n.all == nil {
			n.all = map[string]string{}
		}
		n.all[key] = text
	}
	return text, err
}

// observe makes sure that each node of the cluster has an agent, which lives as long as the keeper.
func (o *Own) observe(ctx context.Context, c *Cluster) error {
	k, in := c.keeper, o.cluster(c.keeper)
	var specs []PodSpec
	var of []*Node
	for _, n := range c.Nodes {
		if n.Agent = k.agents[n.As]; n.Agent != nil && n.Agent.first.Err() == nil {
			continue
		}
		k.observed++
		of = append(of, n)
		specs = append(specs, PodSpec{HostNetwork: true, HostPID: o.o.NodeDaemons, Privileged: o.o.NodePrivileged, Node: &Node{Host: ownNode{fmt.Sprintf("node%d", k.observed), o}, As: n.As, cluster: in}})
	}
	pods, err := in.Run(ctx, specs...)
	if err != nil {
		return fmt.Errorf("agents of nodes: %w", errors.Join(err, in.Remove(context.WithoutCancel(ctx))))
	}
	for i, p := range pods {
		of[i].Agent = p.Containers[0]
		k.agents[of[i].As] = of[i].Agent
	}
	return nil
}

// NodeDaemons returns the daemons of each node, as far as their programs are known, if the user wants to know their CPU time.
func (c *Cluster) NodeDaemons(ctx context.Context) (all []network.NodeDaemons, err error) {
	if c.own == nil || !c.own.o.NodeDaemons {
		return nil, nil
	}
	for _, n := range c.Nodes {
		var found []sampler.Named
		if err := n.Agent.Call(ctx, sampler.MethodNamed, daemons, &found); err != nil {
			return nil, fmt.Errorf("daemons of the node of %s: %w", n.Name(), err)
		}
		one := network.NodeDaemons{Host: n.Name(), Agent: n.Agent.Agent()}
		for _, p := range found {
			one.Names, one.PIDs = append(one.Names, p.Name), append(one.PIDs, p.PID)
		}
		all = append(all, one)
	}
	return all, nil
}
