package docker

import (
	"context"
	"errors"
	"sync"

	"nettoll/internal/dockerd"
	"nettoll/platform"
)

// set is private engines on hosts with one underlay. Starting them takes longer than
// building a network, so they are kept for the next one that wants the same.
type set struct {
	req      platform.HostRequest
	settings dockerd.Settings
	under    platform.Hosts
	engines  []*dockerd.Private
	swarm    *dockerd.Swarm // where the settings want one
}

// mostSets is how many sets are kept. An engine takes about 100 MB.
const mostSets = 3

// start gives the set that was asked for, which it makes where there is none.
func (d *Docker) start(ctx context.Context, req platform.HostRequest, s dockerd.Settings) (dockerd.Hosts, error) {
	if err := d.discardBroken(ctx); err != nil {
		return nil, err
	}
	for i, have := range d.private {
		if have.req == req && have.settings == s {
			d.private = append(append(d.private[:i:i], d.private[i+1:]...), have)
			return d.use(have), nil
		}
	}
	for len(d.private) >= mostSets {
		oldest := d.private[0]
		d.private = d.private[1:]
		if err := oldest.close(ctx); err != nil {
			return nil, err
		}
	}
	under, err := d.o.Lab.Hosts(ctx, req)
	if err != nil {
		return nil, err
	}
	made := &set{req: req, settings: s, under: under, engines: make([]*dockerd.Private, req.Count)}
	errs := make([]error, req.Count)
	var starting sync.WaitGroup
	for i, h := range under.All() {
		starting.Go(func() {
			made.engines[i], errs[i] = dockerd.StartPrivate(ctx, h, i, d.o.Run, d.o.Image, s)
		})
	}
	starting.Wait()
	err = errors.Join(errs...)
	if err == nil && s.Swarm {
		made.swarm, err = dockerd.FormSwarm(ctx, made.engines)
	}
	if err != nil {
		return nil, errors.Join(err, made.close(context.WithoutCancel(ctx)))
	}
	d.private = append(d.private, made)
	return d.use(made), nil
}

// use gives the hosts of a set.
func (d *Docker) use(s *set) dockerd.Hosts {
	if s.swarm == nil {
		return s.hosts()
	}
	return &swarmHosts{hosts: *s.hosts(), swarm: s.swarm, discard: func(ctx context.Context) error { return d.discard(ctx, s) }}
}

func (s *set) hosts() *hosts {
	h := &hosts{}
	for _, e := range s.engines {
		h.all = append(h.all, e.Host)
	}
	return h
}

// close ends the engines and lets their hosts go.
func (s *set) close(ctx context.Context) error {
	errs := make([]error, len(s.engines))
	var stopping sync.WaitGroup
	for i, e := range s.engines {
		if e != nil {
			stopping.Go(func() { errs[i] = e.Stop() })
		}
	}
	stopping.Wait()
	return errors.Join(append(errs, s.under.Close(ctx))...)
}
