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
	"nettoll/record"
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
	kept  []*set           // the one used last is the last
	stood []*set           // all private clusters, in the order in which they were started
	own   *platform.Places // on the user's cluster; nil: it was not used
}

// set is a cluster on hosts with one underlay. Starting it takes longer than building a network, so it is kept for
// further networks with the same requirements. It rests while none stands on it.
type set struct {
	req     platform.HostRequest
	started chan struct{} // closed once it has started or failed to
	err     error         // why it failed to
	under   platform.Hosts
	all     *kube.Cluster
	places  *platform.Places
	spoilt  bool // something could not be removed: it is of no use to further networks
}

// mostKept is how many clusters are kept: most networks are on one or two hosts, and a run may have two networks of pods.
// Each cluster takes a few hundred megabytes.
const mostKept = 4

// New returns the platform. Close it after use.
func New(o Options) *Kubernetes { return &Kubernetes{o: o} }

// Info implements platform.Platform. Networks of one cluster share its nodes, with names, ports and addresses of services of
// their own.
func (k *Kubernetes) Info() platform.Info {
	i := platform.Info{Name: "kubernetes", AtOnce: platform.MostPlaces, Stood: k.Stood}
	if k.o.Lab == nil {
		i.Crowd = kube.OwnPods
	} else {
		i.Starts = kube.StartTime
	}
	if k.o.Own != nil {
		i.Quiet = k.o.Own.Quiet
	}
	return i
}

// Probe implements platform.Platform.
func (k *Kubernetes) Probe(ctx context.Context) error {
	switch {
	case k.o.Lab != nil:
	case k.o.Own != nil:
		return k.o.Own.Probe(ctx)
	default:
		return &platform.Unsupported{Feature: "a network of Kubernetes", Option: "a cluster", Remedy: "use --private-cluster, or name your own with --context"}
	}
	return errors.Join(k.o.Lab.Probe(ctx), kube.Available(k.o.Paths))
}

// Stood describes the clusters: see platform.Info.
func (k *Kubernetes) Stood() (all []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.stood {
		if s.ended() && s.err == nil {
			all = append(all, s.places.With(fmt.Sprintf("a Kubernetes cluster of %d nodes with %s", s.req.Count, s.all.CNI())))
		}
	}
	if k.own != nil {
		all = append(all, k.own.With(k.o.Own.About()))
	}
	return all
}

// Allows implements kube.Provider. Private clusters allow everything.
func (k *Kubernetes) Allows(ctx context.Context, n kube.Needs) error {
	if k.o.Lab != nil || k.o.Own == nil {
		return nil
	}
	return k.o.Own.Allows(ctx, n)
}

// Hosts implements platform.Platform.
func (k *Kubernetes) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	return k.Clusters(ctx, req)
}

// Clusters implements kube.Provider.
func (k *Kubernetes) Clusters(ctx context.Context, req platform.HostRequest) (*kube.Hosts, error) {
	if err := k.Probe(ctx); err != nil {
		return nil, err
	}
	if k.o.Lab == nil {
		return k.visit(ctx, req)
	}
	s, place, err := k.take(ctx, req)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.started:
	case <-ctx.Done():
		k.leave(s, place)
		return nil, context.Cause(ctx)
	}
	if s.err != nil {
		k.leave(s, place)
		return nil, s.err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return &kube.Hosts{Cluster: s.all.Beside(place), Left: func(ctx context.Context, err error) error { return k.left(ctx, s, place, err) }}, nil
}

// take returns a place on a cluster, which is started unless there is one that meets the requirements.
func (k *Kubernetes) take(ctx context.Context, req platform.HostRequest) (_ *set, place int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// A cluster whose programs have ended cannot be used again.
	for _, s := range slices.Clone(k.kept) {
		if s.places.Used() == 0 && s.all.Fault(ctx) != nil {
			if err := k.drop(ctx, s); err != nil {
				return nil, 0, err
			}
		}
	}
	for i, s := range k.kept {
		if s.req != req || s.spoilt || s.ended() && s.err != nil {
			continue
		}
		if place, ok := s.places.Take(); ok {
			if s.ended() && s.places.Used() == 1 {
				if err := s.all.Wake(); err != nil {
					s.places.Free(place)
					return nil, 0, err
				}
			}
			k.kept = append(slices.Delete(k.kept, i, i+1), s)
			return s, place, nil
		}
	}
	for len(k.kept) >= mostKept {
		i := slices.IndexFunc(k.kept, func(s *set) bool { return s.places.Used() == 0 })
		if i < 0 {
			break
		}
		if err := k.drop(ctx, k.kept[i]); err != nil {
			return nil, 0, err
		}
	}
	s := &set{req: req, started: make(chan struct{}), places: &platform.Places{}}
	place, _ = s.places.Take()
	k.kept, k.stood = append(k.kept, s), append(k.stood, s)
	go k.start(ctx, s) // networks on other numbers of hosts need not wait
	return s, place, nil
}

func (k *Kubernetes) start(ctx context.Context, s *set) {
	defer close(s.started)
	o, req := k.o.Options, s.req
	o.CNI, req.CNI = req.CNI, ""
	if s.err = kube.Connectable(o.Paths, o.CNI); s.err != nil {
		return
	}
	if s.under, s.err = k.o.Lab.Hosts(ctx, req); s.err != nil {
		return
	}
	if s.all, s.err = kube.Start(ctx, s.under.All(), o); s.err != nil {
		s.err = errors.Join(s.err, s.under.Close(context.WithoutCancel(ctx)))
	}
}

// ended reports whether starting the cluster has ended, in whatever way.
func (s *set) ended() bool {
	select {
	case <-s.started:
		return true
	default:
		return false
	}
}

// leave gives up the place of a network that could not be built, once the cluster has started or failed to.
func (k *Kubernetes) leave(s *set, place int) {
	<-s.started
	k.mu.Lock()
	defer k.mu.Unlock()
	s.places.Free(place)
	switch {
	case s.err == nil:
		_ = k.vacated(context.Background(), s) // what cannot be ended now ends with the lab
	case s.places.Used() == 0:
		k.kept = slices.DeleteFunc(k.kept, func(other *set) bool { return other == s })
	}
}

// vacated has a cluster rest if no network stands on it any more, and ends it if it is of no use to further ones.
func (k *Kubernetes) vacated(ctx context.Context, s *set) error {
	if s.places.Used() > 0 || !slices.Contains(k.kept, s) {
		return nil
	}
	if s.spoilt = s.spoilt || s.all.Rest(ctx) != nil; s.spoilt {
		return k.drop(ctx, s)
	}
	return nil
}

// drop ends a cluster.
func (k *Kubernetes) drop(ctx context.Context, s *set) error {
	k.kept = slices.DeleteFunc(k.kept, func(other *set) bool { return other == s })
	return s.close(context.WithoutCancel(ctx))
}

// close ends the cluster and releases its hosts.
func (s *set) close(ctx context.Context) error {
	if <-s.started; s.err != nil {
		return nil
	}
	return errors.Join(s.all.Stop(ctx), s.under.Close(ctx))
}

// Close ends all private clusters.
func (k *Kubernetes) Close(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return errors.Join(record.Each(slices.Clone(k.kept), func(s *set) error { return k.drop(ctx, s) })...)
}

// left gives up the place of a network that is gone. A cluster on which something could not be removed is given up, when no
// network is left on it. That is no error if one of its programs has ended, such as the API server: everything ends with it.
func (k *Kubernetes) left(ctx context.Context, s *set, place int, err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.places.Free(place)
	broken := s.all.Fault(ctx) != nil
	s.spoilt = s.spoilt || broken || err != nil
	if broken {
		err = nil
	}
	return errors.Join(err, k.vacated(ctx, s))
}
