package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/procfs"

	"nettoll/docker/engine"
	"nettoll/internal/atonce"
	"nettoll/platform"
	"nettoll/record"
)

// set is a set of private engines on hosts with one underlay. Starting them takes longer than building a network,
// so they are kept for the next network with the same requirements.
type set struct {
	req      platform.HostRequest
	settings engine.Settings
	under    platform.Hosts
	engines  []*engine.Private
	swarm    *engine.Swarm // that the engines form, on the platform of swarms
	taken    bool          // in use by a network
}

// Sets are kept as long as all engines together take no more than a quarter of the available memory, but at least
// fewSets in any case.
const (
	fewSets      = 3
	engineMemory = 100 << 20 // per engine, in bytes, about
)

// mostSets returns how many sets are kept, given the number of engines in each.
func (o Options) mostSets(engines int) int {
	if o.Sets > 0 {
		return o.Sets
	}
	fs, err := procfs.NewFS("/proc")
	if err != nil {
		return fewSets
	}
	m, err := fs.Meminfo()
	if err != nil || m.MemAvailableBytes == nil {
		return fewSets
	}
	return max(fewSets, int(*m.MemAvailableBytes/4/uint64(engineMemory*engines)))
}

// start returns an unused set as requested, and makes one if there is none.
func (d *Docker) start(ctx context.Context, req platform.HostRequest, s engine.Settings) (*engine.Hosts, error) {
	have, err := d.take(ctx, req, s)
	if have != nil || err != nil {
		return have, err
	}
	made, err := d.newSet(ctx, req, s)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.starting--; err != nil {
		return nil, err
	}
	made.taken = true
	d.private, d.stood = append(d.private, made), append(d.stood, made.String())
	return d.use(made), nil
}

// take returns an existing set, or else makes room for another.
func (d *Docker) take(ctx context.Context, req platform.HostRequest, s engine.Settings) (*engine.Hosts, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.discardBroken(ctx); err != nil {
		return nil, err
	}
	for i, have := range d.private {
		if have.req == req && have.settings == s && !have.taken {
			d.private = append(append(d.private[:i:i], d.private[i+1:]...), have)
			have.taken = true
			return d.use(have), nil
		}
	}
	for len(d.private)+d.starting >= d.o.mostSets(req.Count) {
		i := slices.IndexFunc(d.private, func(s *set) bool { return !s.taken })
		if i < 0 {
			break
		}
		oldest := d.private[i]
		d.private = slices.Delete(d.private, i, i+1)
		if err := oldest.close(ctx); err != nil {
			return nil, err
		}
	}
	d.starting++
	return nil, nil
}

// newSet starts engines.
func (d *Docker) newSet(ctx context.Context, req platform.HostRequest, s engine.Settings) (*set, error) {
	under, err := d.o.Lab.Hosts(ctx, req)
	if err != nil {
		return nil, err
	}
	made := &set{req: req, settings: s, under: under, engines: make([]*engine.Private, req.Count)}
	err = errors.Join(atonce.Each(-1, under.All(), func(i int, h platform.Host) (err error) {
		made.engines[i], err = engine.StartPrivate(ctx, h, i, d.o.Run, d.o.Image, s)
		return err
	})...)
	if err == nil && d.swarm {
		made.swarm, err = engine.FormSwarm(ctx, made.engines)
	}
	if err != nil {
		return nil, errors.Join(err, made.close(context.WithoutCancel(ctx)))
	}
	return made, nil
}

// String describes the engines of the set for users.
func (s *set) String() string {
	text := fmt.Sprintf("%d × dockerd", len(s.engines))
	if with := s.settings.String(); with != "" {
		text += " " + with
	}
	if s.swarm != nil {
		text += ", nodes of one swarm"
	}
	return text
}

// use returns the hosts of a set.
func (d *Docker) use(s *set) *engine.Hosts {
	h := &engine.Hosts{Docker: s.hosts(), Swarm: s.swarm}
	h.Free = sync.OnceFunc(func() { // once: a later network may be using the set by then
		d.mu.Lock()
		defer d.mu.Unlock()
		s.taken = false
	})
	h.Discard = func(ctx context.Context) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.drop(ctx, s)
	}
	return h
}

// discardBroken ends sets that nobody uses and that have lost an engine, or a node of their swarm.
func (d *Docker) discardBroken(ctx context.Context) error {
	for _, s := range slices.Clone(d.private) {
		if s.taken || s.fault(ctx) == nil || ctx.Err() != nil {
			continue
		}
		if err := d.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// fault returns why the set cannot be used any more; nil if it can.
func (s *set) fault(ctx context.Context) error {
	if s.swarm != nil {
		_, err := engine.FindSwarm(ctx, s.hosts())
		return err
	}
	return record.Try(s.hosts(), func(h *engine.Host) error { return h.Fault(ctx) })
}

// drop ends the engines of a set.
func (d *Docker) drop(ctx context.Context, s *set) error {
	i := slices.Index(d.private, s)
	if i < 0 {
		return nil
	}
	d.private = slices.Delete(d.private, i, i+1)
	for _, h := range s.hosts() {
		h.Forget() // they may no longer remove anything on request
	}
	return s.close(ctx)
}

func (s *set) hosts() []*engine.Host {
	return record.Each(s.engines, func(e *engine.Private) *engine.Host { return e.Host })
}

// close ends the engines and releases their hosts.
func (s *set) close(ctx context.Context) error {
	started := slices.DeleteFunc(slices.Clone(s.engines), func(e *engine.Private) bool { return e == nil })
	errs := atonce.Each(-1, started, func(_ int, e *engine.Private) error { return e.Stop() })
	return errors.Join(append(errs, s.under.Close(ctx))...)
}
