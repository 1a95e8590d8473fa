package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/technique"
)

// sited is a network that shows the hosts that it is on.
type sited interface{ Machines() []platform.Host }

// hosts are those of the network, where it shows them.
func (s *session) hosts() []platform.Host {
	if n, ok := s.network.(sited); ok {
		return n.Machines()
	}
	return nil
}

// hostOf is the name of the host that an endpoint is on, or empty where nobody tells.
func (s *session) hostOf(e platform.Endpoint) string {
	if at, ok := platform.As[technique.Located](e); ok {
		return at.OnHost()
	}
	return s.named(func(host string) bool {
		number, ok := strings.CutPrefix(e.Name(), host+"c") // a container of the lab
		return e.Name() == host || ok && number != "" && strings.Trim(number, "0123456789") == ""
	})
}

// houseOf is the name of the host that a process of the network is on, or empty where
// nobody tells.
func (s *session) houseOf(p platform.Process) string {
	if at, ok := p.(technique.Housed); ok {
		return at.Host()
	}
	return s.named(func(host string) bool { return strings.HasSuffix(title(p), " on "+host) })
}

// named is the host whose name fits, or the only one there is.
func (s *session) named(fits func(host string) bool) string {
	all := s.hosts()
	for _, h := range all {
		if fits(h.Name()) {
			return h.Name()
		}
	}
	if len(all) == 1 {
		return all[0].Name()
	}
	return ""
}

// house notes which hosts the endpoints of a trial are on.
func (s *session) house(endpoints []record.Endpoint, links []link) {
	for i, at := range seats(links) {
		endpoints[i].Host = s.hostOf(at.Endpoint)
	}
}

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
	for _, h := range s.hosts() {
		ns, ok := h.(platform.NetNSer)
		if ok && ns.NetNS() != "" && !platform.Borrowed(h) {
			all[h.Name()] = ns.NetNS()
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
