package kubernetes

import (
	"context"
	"fmt"

	"nettoll/kube"
	"nettoll/platform"
)

// visit returns nodes of the user's cluster.
func (k *Kubernetes) visit(ctx context.Context, req platform.HostRequest) (kube.Hosts, error) {
	switch {
	case req.Count < 1:
		return nil, fmt.Errorf("kubernetes: %d hosts: at least 1 is needed", req.Count)
	case req.CNI != "":
		return nil, &platform.Unsupported{
			Feature: "another network of pods in a cluster of your own", Option: "a cluster that nettoll starts", Remedy: "leave --cni out, or add --private-cluster",
		}
	case req.Changed():
		return nil, &platform.Unsupported{
			Feature: "changing the link between nodes of your own, or their firewall", Option: "nodes that nettoll made",
			Remedy: "leave --underlay, --mtu and --rules out, or add --private-cluster",
		}
	}
	c, err := k.o.Own.Use(ctx, req.Count)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.own == nil {
		k.own = &platform.Places{}
	}
	place, ok := k.own.Take()
	if !ok {
		k.o.Own.Leave(c)
		return nil, fmt.Errorf("kubernetes: %d networks stand on the cluster already", platform.MostPlaces)
	}
	return &guests{c.Beside(place), k}, nil
}

// guests are pods on nodes of the user's cluster, for one network.
type guests struct {
	cluster *kube.Cluster
	k       *Kubernetes
}

// Transient implements platform.Hosts.
func (*guests) Transient() bool { return false }

// All implements platform.Hosts.
func (g *guests) All() []platform.Host { return nodes(g.cluster) }

// Cluster implements kube.Hosts.
func (g *guests) Cluster() *kube.Cluster { return g.cluster }

// Close implements platform.Hosts: it removes what was made. If the connection to the cluster was lost, the cluster removes
// that by itself, and Close returns no error. What else cannot be removed disappears with the keeper.
func (g *guests) Close(ctx context.Context) error {
	err := g.cluster.Remove(ctx)
	if err != nil {
		g.k.o.Own.GiveUp(g.cluster)
	}
	g.k.o.Own.Leave(g.cluster)
	g.k.mu.Lock()
	defer g.k.mu.Unlock()
	g.k.own.Free(g.cluster.Place())
	if g.k.o.Own.Kept() {
		return nil
	}
	return err
}
