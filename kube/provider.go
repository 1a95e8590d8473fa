package kube

import (
	"context"
	"errors"

	"nettoll/platform"
	"nettoll/record"
)

// Provider is a platform whose hosts are nodes of clusters.
type Provider interface {
	platform.Platform
	// Clusters returns hosts that are the nodes of a cluster. The error wraps platform.ErrUnsupported if there are
	// none.
	Clusters(ctx context.Context, req platform.HostRequest) (*Hosts, error)
	// Allows returns an error that wraps platform.ErrUnsupported if clusters refuse what a network needs of them. Nothing
	// is made.
	Allows(ctx context.Context, n Needs) error
}

// Hosts are the nodes of a cluster, in use by one network.
type Hosts struct {
	Cluster *Cluster
	// Left is called when what was made has been removed, with the error if something could not be. It returns Close's error.
	Left func(context.Context, error) error
}

// Transient implements platform.Hosts. Clusters outlive networks, so it is false.
func (*Hosts) Transient() bool { return false }

// All implements platform.Hosts.
func (h *Hosts) All() []platform.Host {
	return record.Each(h.Cluster.Nodes, func(n *Node) platform.Host { return n })
}

// Close implements platform.Hosts: it removes what was made, and keeps the cluster for further networks.
func (h *Hosts) Close(ctx context.Context) error { return h.Left(ctx, h.Cluster.Remove(ctx)) }

// Containers implements platform.Host.
func (n *Node) Containers(context.Context, int) ([]platform.Endpoint, error) {
	return nil, alwaysConnected()
}

// alwaysConnected is the error of a request for containers without a network: those of a cluster always have one.
func alwaysConnected() error {
	return &platform.Unsupported{
		Feature: "this network in Kubernetes", Option: "containers that have no network",
		Remedy: "measure it in the lab", Err: errors.New("pods always have the cluster's network"),
	}
}
