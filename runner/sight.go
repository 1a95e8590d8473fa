package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nettoll/record"
	"nettoll/sampler"
)

// hostOfRole is the host that all endpoints of a role are on, or empty.
func hostOfRole(endpoints []record.Endpoint, role string) (host string) {
	for _, e := range endpoints {
		if e.Role != role {
			continue
		}
		if host != "" && host != e.Host {
			return ""
		}
		host = e.Host
	}
	return host
}

// readable are the hosts whose namespaces can be read from here and are nobody's but
// the network's: what else goes on in a machine of the user's is not the trial's.
func (s *session) readable() map[string]string {
	all := map[string]string{}
	for _, h := range s.network.Hosts {
		if f := h.Facts(); f.NetNS != "" && !f.Borrowed {
			all[h.Name()] = f.NetNS
		}
	}
	return all
}

// sight is what is looked at right before a trial and right after it.
type sight struct {
	at       time.Time
	counters map[string]uint64 // see count
	routes   map[string]string // see routes
	ports    map[string]port   // see ports
}

func (s *session) look(ctx context.Context, links []link) (v sight, err error) {
	v.at = time.Now()
	if v.counters, err = s.count(ctx, links); err != nil {
		return v, err
	}
	if v.routes, err = s.routes(ctx, links); err != nil {
		return v, err
	}
	v.ports, err = s.ports()
	return v, err
}

// count reads the counters of the endpoints and of the hosts between them, by
// "<where>/<counter>".
func (s *session) count(ctx context.Context, links []link) (map[string]uint64, error) {
	all, err := counters(ctx, links)
	if err != nil {
		return nil, err
	}
	ends := names(links)
	for name, path := range s.readable() {
		if slices.Contains(ends, name) {
			continue
		}
		c, err := sampler.Protocols(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for counter, v := range c {
			all[name+"/"+counter] = v
		}
	}
	return all, nil
}

// names are those of the endpoints of a trial.
func names(links []link) (all []string) {
	for _, at := range seats(links) {
		all = append(all, at.Name())
	}
	return all
}
