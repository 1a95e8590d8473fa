package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"nettoll/network"
	"nettoll/sampler"
)

// A path is proved by counters of the devices on it. That they are still joined as they
// were is another matter: the ports of a bridge, moved to another one in the middle of a
// trial, go on counting.

// changed says in words how the path is another one than before, or nothing.
func changed(p *proof, before, after sight, bridge func(host string, index int) string) string {
	what := cmp.Or(moved(p.hops, p.before, p.after, bridge), rerouted(before.routes, after.routes))
	if what == "" {
		return ""
	}
	return "the path changed during the trial: " + what
}

// moved says which device is not joined to others as it was, or nothing. bridge names the
// device of a host with an index.
func moved(hops []network.Hop, before, after []network.Count, bridge func(host string, index int) string) string {
	for i, h := range hops {
		a, b := before[i].At, after[i].At
		if a == b {
			continue
		}
		host, _, _ := strings.Cut(h.Name, "/")
		switch {
		case a.Index != b.Index || a.Kind != b.Kind:
			return h.Name + " was made anew"
		case a.Master == b.Master:
			return "the other end of " + h.Name + " is another one"
		case b.Master == 0:
			return fmt.Sprintf("%s was a port of %s, and is no bridge's any more", h.Name, bridge(host, a.Master))
		case a.Master == 0:
			return fmt.Sprintf("%s has become a port of %s", h.Name, bridge(host, b.Master))
		}
		return fmt.Sprintf("%s was a port of %s, and is one of %s", h.Name, bridge(host, a.Master), bridge(host, b.Master))
	}
	return ""
}

// bridge names the device of a host with an index.
func (s *session) bridge(host string, index int) string {
	all, err := sampler.Devices(s.readable()[host])
	for _, d := range all {
		if err == nil && d.Index == index {
			return d.Name
		}
	}
	return fmt.Sprintf("the device with the index %d", index)
}

// routes are those of the network's hosts, and those by which the endpoints send to each
// other, by "<where>: <destination>".
func (s *session) routes(ctx context.Context, links []link) (map[string]string, error) {
	all := map[string]string{}
	for host, path := range s.readable() {
		routes, err := sampler.Routes(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		for to, leads := range routes {
			all[host+": "+to] = leads
		}
	}
	var mu sync.Mutex
	err := ask(seats(links), func(_ int, at seated) error {
		var leads string
		if err := at.Call(ctx, sampler.MethodRoute, at.peer, &leads); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all[at.Name()+": "+at.peer.String()] = leads
		return nil
	})
	return all, err
}

// rerouted says which route is not what it was, or nothing.
func rerouted(before, after map[string]string) string {
	everything := maps.Clone(before)
	maps.Copy(everything, after)
	for _, key := range slices.Sorted(maps.Keys(everything)) {
		was, had := before[key]
		is, has := after[key]
		where, to, _ := strings.Cut(key, ": ")
		switch {
		case was == is:
		case !has:
			return fmt.Sprintf("%s has no route to %s any more, which led %s", where, to, was)
		case !had:
			return fmt.Sprintf("%s has a new route to %s, which leads %s", where, to, is)
		default:
			return fmt.Sprintf("the route of %s to %s led %s, and leads %s", where, to, was, is)
		}
	}
	return ""
}
