package kubernetes

import (
	"context"
	"fmt"

	"nettoll/kube"
	"nettoll/platform"
)

// visit returns nodes of the user's cluster.
func (k *Kubernetes) visit(ctx context.Context, req platform.HostRequest) (*kube.Hosts, error) {
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
	c = c.Beside(place)
	return &kube.Hosts{Cluster: c, Left: func(_ context.Context, err error) error { return k.depart(c, err) }}, nil
}

// depart gives up the place of a network that is gone from the user's cluster. If the connection to its keeper was lost, the
// cluster removes everything by itself, and there is no error. What else could not be removed disappears with the keeper.
func (k *Kubernetes) depart(c *kube.Cluster, err error) error {
	if err != nil {
		k.o.Own.GiveUp(c)
	}
	k.o.Own.Leave(c)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.own.Free(c.Place())
	if k.o.Own.Kept(c) {
		return nil
	}
	return err
}
