// Package kubernetes provides the platform of Kubernetes clusters: those that are started on hosts of the lab and end with
// it, or the user's.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"nettoll/kube"
	"nettoll/platform"
)

// Options control which clusters are used.
type Options struct {
	kube.Options
	// Lab provides the hosts that private clusters are started on; if it is nil, there are none.
	Lab platform.Platform
	// Own is a cluster of the user's, which is used if there is no Lab. Close leaves it to whoever has opened it.
	Own *kube.Own
}

// Kubernetes is the platform.
type Kubernetes struct {
	o Options

	mu    sync.Mutex
	kept  []*set // the one used last is the last
	stood []string
}

// set is a cluster on hosts with one underlay. Starting it takes longer than building a network, so it is kept for the
// next network with the same requirements.
type set struct {
	req   platform.HostRequest
	under platform.Hosts
	all   *kube.Cluster
	taken bool // in use by a network
}

// mostKept is how many clusters are kept: one for each number of hosts that most networks have. Each takes a few
// hundred megabytes.
const mostKept = 2

// New returns the platform. Close it after use.
func New(o Options) *Kubernetes { return &Kubernetes{o: o} }

// Name implements platform.Platform.
func (*Kubernetes) Name() string { return "kubernetes" }

// Probe implements platform.Platform.
func (k *Kubernetes) Probe(ctx context.Context) error {
	switch {
	case k.o.Lab != nil:
	case k.o.Own != nil:
		return k.o.Own.Probe(ctx)
	default:
		return &platform.Unsupported{Feature: "a network of Kubernetes", Option: "a cluster", Remedy: "use --private-cluster, or name one of yours with --context"}
	}
	return errors.Join(k.o.Lab.Probe(ctx), kube.Available(k.o.Paths))
}

// AtOnce implements platform.Engines: networks of one cluster share its nodes.
func (*Kubernetes) AtOnce(int) int { return 1 }

// Quiet implements platform.Quieter: heartbeats of the pods on the user's cluster are left out.
func (k *Kubernetes) Quiet() (end func()) {
	if k.o.Own == nil {
		return func() {}
	}
	return k.o.Own.Quiet()
}

// Stood implements platform.Engines.
func (k *Kubernetes) Stood() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.stood)
}

// Hosts implements platform.Platform.
func (k *Kubernetes) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	return k.Clusters(ctx, req)
}

// Clusters implements kube.Provider.
func (k *Kubernetes) Clusters(ctx context.Context, req platform.HostRequest) (kube.Hosts, error) {
	if err := k.Probe(ctx); err != nil {
		return nil, err
	}
	if k.o.Lab == nil {
		return k.visit(ctx, req)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// One whose programs have ended is of no use to anybody.
	for _, s := range slices.Clone(k.kept) {
		if !s.taken && s.all.Fault() != nil {
			if err := k.drop(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	for i, s := range k.kept {
		if s.req == req && !s.taken {
			k.kept = append(slices.Delete(k.kept, i, i+1), s)
			s.taken = true
			return &hosts{s, k}, nil
		}
	}
	for len(k.kept) >= mostKept {
		i := slices.IndexFunc(k.kept, func(s *set) bool { return !s.taken })
		if i < 0 {
			break
		}
		if err := k.drop(ctx, k.kept[i]); err != nil {
			return nil, err
		}
	}
	s, err := k.start(ctx, req)
	if err != nil {
		return nil, err
	}
	k.kept, k.stood = append(k.kept, s), append(k.stood, fmt.Sprintf("a Kubernetes cluster of %d nodes", req.Count))
	return &hosts{s, k}, nil
}

func (k *Kubernetes) start(ctx context.Context, req platform.HostRequest) (*set, error) {
	under, err := k.o.Lab.Hosts(ctx, req)
	if err != nil {
		return nil, err
	}
	all, err := kube.Start(ctx, under.All(), k.o.Options)
	if err != nil {
		return nil, errors.Join(err, under.Close(context.WithoutCancel(ctx)))
	}
	return &set{req: req, under: under, all: all, taken: true}, nil
}

// drop ends a cluster.
func (k *Kubernetes) drop(ctx context.Context, s *set) error {
	k.kept = slices.DeleteFunc(k.kept, func(other *set) bool { return other == s })
	return s.close(context.WithoutCancel(ctx))
}

// close ends the cluster and releases its hosts.
func (s *set) close(ctx context.Context) error {
	return errors.Join(s.all.Stop(ctx), s.under.Close(ctx))
}

// Close ends all private clusters.
func (k *Kubernetes) Close(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, s := range slices.Clone(k.kept) {
		errs = append(errs, k.drop(ctx, s))
	}
	return errors.Join(errs...)
}

// hosts are the nodes of a cluster, in use by one network.
type hosts struct {
	s *set
	k *Kubernetes
}

// Transient implements platform.Hosts. Clusters outlive networks, so it is false.
func (*hosts) Transient() bool { return false }

// All implements platform.Hosts.
func (h *hosts) All() []platform.Host {
	var all []platform.Host
	for _, n := range h.s.all.Nodes {
		all = append(all, n)
	}
	return all
}

// Cluster implements kube.Hosts.
func (h *hosts) Cluster() *kube.Cluster { return h.s.all }

// Close implements platform.Hosts: it removes what was made, and keeps the cluster for the next network. One on which
// something cannot be removed is given up.
func (h *hosts) Close(ctx context.Context) error {
	err := h.s.all.Remove(ctx)
	h.k.mu.Lock()
	defer h.k.mu.Unlock()
	h.s.taken = false
	if err != nil && slices.Contains(h.k.kept, h.s) {
		return h.k.drop(ctx, h.s)
	}
	return err
}
