package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nettoll/kube"
	"nettoll/platform"
	"nettoll/platform/kubernetes"
	"nettoll/record"
)

// clusterFlags select the Kubernetes cluster: the user's, or private ones.
type clusterFlags struct {
	cluster bool            // private
	users   kube.OwnOptions // of the user's cluster

	kept *kube.Own // opened once
}

const (
	privateCluster = "private-cluster"
	nodeAgent      = "node-agent"
	nodeDaemons    = "node-daemons"
	nodePrivileged = "node-privileged"
	podCPUs        = "pod-cpus"
)

func (f *clusterFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.users.Login.Context, "context", "", "context of the kubeconfig that names the cluster (default: the current one)")
	fl.StringVar(&f.users.Login.Config, "kubeconfig", "", "kubeconfig (default: KUBECONFIG, or ~/.kube/config)")
	fl.StringVarP(&f.users.Login.Namespace, "namespace", "n", "", "namespace of everything that is made in the cluster (default: the context's)")
	fl.StringSliceVar(&f.users.Nodes, "nodes", nil, "nodes to use, such as a,b; the servers are on the first (default: two of a kind that take pods)")
	fl.StringVar(&f.users.Zones, "zones", "", "find two nodes in the same zone (same), or in different ones (cross; default: in any)")
	fl.StringSliceVar(&f.users.Tolerate, "tolerate", nil, "keys of taints that nettoll's pods tolerate, such as dedicated: nodes that have them are used, too")
	fl.IntVar(&f.users.PodCPUs, podCPUs, 0, "CPUs that each measured pod requests and is limited to: where kubelet's CPU manager has the policy static, they are its own (default: pods request none, and have no limit)")
	fl.StringVar(&f.users.Image, "image", "", "image of the pods, any that has a shell (default "+kube.DefaultImage+")")
	fl.BoolVar(&f.users.NodeAgents, nodeAgent, false, "prove what carries the payload between pods, by a pod on each node with the node's network (hostNetwork), which reads its counters")
	fl.BoolVar(&f.users.NodeDaemons, nodeDaemons, false, "record the CPU time of the nodes' daemons (kubelet, kube-proxy, CNI agents), by the pods of --"+nodeAgent+", which then see the processes of their node (hostPID)")
	fl.BoolVar(&f.users.NodePrivileged, nodePrivileged, false, "find out what translates the addresses of services (conntrack, IPVS), and which BPF programs packets run through, by the pods of --"+nodeAgent+", which are then root with NET_ADMIN and SYS_ADMIN")
	fl.StringVar(&f.users.Expect, "expect", "", "with --"+nodeAgent+", what carries the payload from node to node ("+strings.Join(kube.Expectable, ", ")+"): trials where it is something else are invalid")
	fl.BoolVar(&f.cluster, privateCluster, false, "start Kubernetes clusters for this run, on hosts of the lab, and end them with it")
}

// ownClusterFlags are the flags that mean nothing without a cluster of the user's.
var ownClusterFlags = []string{"context", "kubeconfig", "namespace", "nodes", "zones", "tolerate", podCPUs, "image", nodeAgent, nodeDaemons, nodePrivileged, "expect"}

// ofClusters returns the cells whose networks are made by clusters.
func ofClusters(cells []record.Cell) []record.Cell { return cellsOn[*kubernetes.Kubernetes](cells) }

// onOwnCluster reports whether a network is made by the user's cluster.
func (f *clusterFlags) onOwnCluster(network string) bool {
	return !f.cluster && isOn[*kubernetes.Kubernetes](network)
}

// suitClusters finds mistakes in the flags for a run of the cells.
func (f *runFlags) suitClusters(cells []record.Cell) error {
	of, flags := ofClusters(cells), append([]string{privateCluster}, ownClusterFlags...)
	if len(of) == 0 {
		return f.without("of a cluster", "kubernetes:pod", flags...)
	}
	for _, name := range flags {
		switch {
		case !f.given(name):
		case f.cluster && (name == nodeAgent || name == nodePrivileged || name == "expect"):
			return usagef("--%s: the path on nodes of private clusters is proved anyway; leave it out", name)
		case f.cluster && name == nodeDaemons:
			return usagef("--%s: daemons of private clusters are on the machine that is measured; leave it out", name)
		case f.cluster && name == podCPUs:
			return usagef("--%s: the nodes of private clusters share this machine's CPUs; leave it out", name)
		case f.cluster && name != privateCluster:
			return usagef("--%s is for a cluster that runs, --%s starts one; leave one out", name, privateCluster)
		}
	}
	if f.cluster {
		_, err := packs(of, f.paths, false)
		return err
	}
	if f.given("cni") || slices.ContainsFunc(of, func(c record.Cell) bool { return c.CNI != "" }) {
		return usagef("--cni: the pods of your own cluster are connected as they are; leave it out, or add --%s", privateCluster)
	}
	if f.private {
		return usagef("--private-engine starts engines in a lab, from which your cluster cannot be reached; measure %s in a run of its own", asked(of))
	}
	if c := of[0]; len(of) == len(cells) && (c.Normalize || c.Offload != "") && f.resume == "" {
		flag := "offload"
		if c.Normalize {
			flag = "normalize"
		}
		return usagef("--%s: pods of your own cluster may not change their devices; leave it out, or add --%s", flag, privateCluster)
	}
	if f.given("expect") {
		switch {
		case f.selfCheck:
			return usagef("--expect: a self-check measures only native networks, to which it does not apply; leave it out")
		case !slices.Contains(kube.Expectable, f.users.Expect):
			return usagef("--expect %s: unknown; known are %s%s", f.users.Expect, strings.Join(kube.Expectable, ", "), nearest(f.users.Expect, kube.Expectable))
		case !f.observing():
			return usagef("--expect: pods do not see what carries the payload; add --%s, or leave it out", nodeAgent)
		case !slices.ContainsFunc(of, betweenPods):
			return usagef("--expect: no network of this run leads from the pods of one node to those of another; add one, such as kubernetes:pod on two hosts (--hosts 2), or leave it out")
		}
	}
	if f.given("zones") {
		known := []string{kube.SameZone, kube.OtherZone}
		switch {
		case !slices.Contains(known, f.users.Zones):
			return usagef("--zones %s: unknown; known are %s%s", f.users.Zones, strings.Join(known, ", "), nearest(f.users.Zones, known))
		case len(f.users.Nodes) > 0:
			return usagef("--zones finds nodes, and --nodes names them; leave one out")
		case !slices.ContainsFunc(of, func(c record.Cell) bool { return c.Hosts == 2 }):
			return usagef("--zones is about two nodes, and no network of this run is on two; add --hosts 2, or leave it out")
		}
	}
	for _, key := range f.users.Tolerate {
		if key == "" || strings.ContainsAny(key, "=: ") {
			return usagef("--tolerate %q: give the key of a taint, such as dedicated", key)
		}
	}
	if f.given(podCPUs) && (f.users.PodCPUs < 1 || f.users.PodCPUs > mostPodCPUs) {
		return usagef("--%s %d: give a whole number of CPUs, from 1 to %d, or leave it out", podCPUs, f.users.PodCPUs, mostPodCPUs)
	}
	for i, name := range f.users.Nodes {
		switch {
		case name == "":
			return usagef("--nodes: a name is empty")
		case slices.Contains(f.users.Nodes[:i], name):
			return usagef("--nodes: %s is named twice", name)
		}
	}
	return nil
}

// mostPodCPUs is more than any machine has.
const mostPodCPUs = 10_000

// betweenPods reports whether the clients of a cell reach pods on another node by addresses of pods or services: only then is
// it known whether a tunnel should carry the payload.
func betweenPods(c record.Cell) bool {
	return c.Hosts > 1 && !slices.Contains([]string{"kubernetes:native", "kubernetes:nodeport", "kubernetes:hostport"}, c.Network)
}

// asked returns the network of the first cell that is not only there to be compared with.
func asked(cells []record.Cell) string {
	i := slices.IndexFunc(cells, func(c record.Cell) bool { return !c.IsNative() })
	return cells[max(i, 0)].Network
}

// observing reports whether there are agents on the nodes of the user's cluster.
func (f *clusterFlags) observing() bool {
	return f.users.NodeAgents || f.users.NodeDaemons || f.users.NodePrivileged
}

// own returns the user's cluster, always the same one.
func (f *clusterFlags) own() *kube.Own {
	if f.kept == nil {
		o := f.users
		o.Run, o.Agents, o.Tools, o.NodeAgents = newID(), agents, sent, f.observing()
		f.kept = kube.NewOwn(o)
	}
	return f.kept
}

// lodge finds the user's cluster before anything is measured and, except in a dry run, makes sure that pods run there.
// What the cluster refuses is no error here: look finds it again, with the networks that it concerns.
func (a *app) lodge(ctx context.Context, f *runFlags, cells []record.Cell) error {
	of := ofClusters(cells)
	if len(of) == 0 || f.cluster {
		return nil
	}
	own := f.own()
	err := own.Probe(ctx)
	for _, one := range []struct {
		given       bool
		flag, takes string
		needs       kube.Needs
	}{
		{f.users.NodeAgents, nodeAgent, "a pod with the network of its node (hostNetwork)", kube.Needs{Pod: kube.PodSpec{HostNetwork: true}}},
		{f.users.PodCPUs > 0, podCPUs, "a pod with requests and limits of CPUs", kube.Needs{Pod: kube.PodSpec{CPUs: f.users.PodCPUs}}},
		{f.users.NodeDaemons, nodeDaemons, "a pod with the network and the processes of its node (hostNetwork, hostPID)", kube.Needs{Pod: kube.PodSpec{HostNetwork: true, HostPID: true}}},
		{f.users.NodePrivileged, nodePrivileged, "a pod with the network of its node (hostNetwork) and the capabilities NET_ADMIN and SYS_ADMIN", kube.Needs{Pod: kube.PodSpec{HostNetwork: true, HostPID: f.users.NodeDaemons, Privileged: true}}},
		{slices.ContainsFunc(of, func(c record.Cell) bool { return c.Services > 0 }), record.Services, "EndpointSlices that nettoll writes", kube.Needs{Further: true}},
		{slices.ContainsFunc(of, func(c record.Cell) bool { return c.Policies > 0 }), record.Policies, "NetworkPolicies", kube.Needs{Policies: true}},
	} {
		if err != nil || !one.given {
			continue
		}
		if err := own.Allows(ctx, one.needs); errors.Is(err, platform.ErrUnsupported) {
			return usagef("--%s takes %s: %w, or leave --%[1]s out", one.flag, one.takes, withRemedy(err))
		}
	}
	if err == nil && !f.dryRun {
		err = own.Begin(ctx)
	}
	switch {
	case err == nil:
		fmt.Fprintln(a.stderr, "measuring on", told(own.Where()))
	case errors.As(err, new(kube.Mistake)):
		return usagef("%s: %w", asked(of), err)
	case !errors.Is(err, platform.ErrUnsupported):
		return fmt.Errorf("%s: %w", asked(of), err)
	}
	return nil
}

// sayRefused says, before anything is measured, what networks of the user's cluster are left out, and why.
func (a *app) sayRefused(f *runFlags, found impossible) {
	for _, r := range found.reasons {
		if slices.ContainsFunc(r.names, f.onOwnCluster) {
			fmt.Fprintln(a.stderr, "note: left out:", r)
		}
	}
}

// leaveCluster removes from the user's cluster what was made there.
func (f *clusterFlags) leaveCluster(ctx context.Context) error {
	if f.kept == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), leaveTime, fmt.Errorf("it took more than %v", leaveTime))
	defer cancel()
	return f.kept.Close(ctx)
}
