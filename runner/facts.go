package runner

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"sync"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// seated is an endpoint in one of its roles. Several clients of one container are one.
type seated struct {
	*AgentEndpoint
	role      string
	peer, own netip.Addr
}

// seats lists all endpoints of a trial, each role once, in the order of the links.
func seats(links []link) []seated {
	var all []seated
	type taken struct {
		endpoint platform.Endpoint
		role     string
	}
	seen := map[taken]bool{}
	add := func(s seated) {
		k := taken{s.Endpoint, s.role}
		if !seen[k] {
			seen[k] = true
			all = append(all, s)
		}
	}
	for _, l := range links {
		add(seated{l.client, "client", l.toServer, l.toClient})
		add(seated{l.server, "server", l.toClient, l.toServer})
	}
	return all
}

// atOnce is how many endpoints are asked at the same time.
const atOnce = 32

// ask asks all endpoints, several at a time, until one fails.
func ask(all []seated, do func(i int, s seated) error) error {
	errs := make([]error, len(all))
	var asking sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, s := range all {
		free <- struct{}{}
		asking.Go(func() {
			if err := do(i, s); err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.Name(), err)
			}
			<-free
		})
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// normalMTU is what the network with the largest overhead has on an underlay of 1500
// bytes: Weave's.
const normalMTU = 1376

// condition makes the endpoints what the cell wants them to be, once for a network.
func (s *session) condition(ctx context.Context, c record.Cell, links []link) error {
	want := sampler.Condition{NoOffloads: c.Offload == record.OffloadOff, KeepWindow: s.rests}
	if c.Normalize {
		want.MaxMTU = normalMTU
	}
	if s.conditioned || want == (sampler.Condition{}) {
		return nil
	}
	err := ask(seats(links), func(_ int, at seated) error {
		p, got := want, sampler.Conditioned{}
		p.Peer = at.peer
		// An engine's container cannot write what is its own.
		if ns := at.Facts().NetNS; want.KeepWindow && ns != "" {
			if err := sampler.KeepWindow(ns); err != nil {
				return err
			}
			p.KeepWindow = false
		}
		if err := at.Call(ctx, sampler.MethodCondition, p, &got); err != nil {
			return err
		}
		if got.Refused != "" {
			return &platform.Unsupported{
				Feature: "an endpoint without offloads", Option: "a device that can do without " + got.Refused,
				Remedy: "leave --offload off out for this network",
			}
		}
		return nil
	})
	s.conditioned = err == nil
	return err
}

// facts asks every endpoint what it is, once for each role.
func facts(ctx context.Context, links []link) ([]record.Endpoint, error) {
	all := seats(links)
	out := make([]record.Endpoint, len(all))
	err := ask(all, func(i int, s seated) error {
		if err := s.Call(ctx, sampler.MethodEndpoint, s.peer, &out[i]); err != nil {
			return err
		}
		out[i].Name, out[i].Role, out[i].Address = s.Name(), s.role, s.own.String()
		out[i].Host, out[i].Platform = s.OnHost(), s.Facts().About
		return nil
	})
	return out, err
}

// place notes where the processes of the endpoints are pinned.
func place(endpoints []record.Endpoint, cpus workload.CPUs) {
	for i := range endpoints {
		endpoints[i].CPUs = cpus.Server
		if endpoints[i].Role == "client" {
			endpoints[i].CPUs = cpus.Client
		}
	}
}

// counters reads the counters of all endpoints, by "<endpoint>/<counter>". An endpoint
// in both roles is read once.
func counters(ctx context.Context, links []link) (map[string]uint64, error) {
	var once []seated
	seen := map[string]bool{}
	for _, s := range seats(links) {
		if !seen[s.Name()] {
			seen[s.Name()] = true
			once = append(once, s)
		}
	}
	var mu sync.Mutex
	all := map[string]uint64{}
	err := ask(once, func(_ int, s seated) error {
		var c map[string]uint64
		if err := s.Call(ctx, sampler.MethodCounters, nil, &c); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for name := range maps.Keys(c) {
			all[s.Name()+"/"+name] = c[name]
		}
		return nil
	})
	return all, err
}
