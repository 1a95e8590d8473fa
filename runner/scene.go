package runner

import (
	"slices"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// scene is what a trial took place in and what was counted there, in which findings are
// looked for.
type scene struct {
	ends    []record.Endpoint
	flows   []record.Flow
	counted map[string]uint64 // what grew, by "<where>/<counter>"
	hosts   []string          // that are no endpoints
	path    []device          // of hosts, that the payload crosses
	paths   [][]device        // the same, of each pair
	uplinks map[string]device // of hosts, by their names, where there are several
	probes  uint64            // fragments of the network's own, at most, from each host
}

// device is a network device of a host.
type device struct {
	host, name, kind string
	mtu              int
}

func (d device) String() string { return d.host + "/" + d.name }

// overheads are what kinds of tunnels add to a packet over IPv4, in bytes, as the kernel
// names the kinds. What those of programs (tun) add, only they know.
var overheads = map[string]int{
	"vxlan": 50, "geneve": 50, "gretap": 38, "gre": 24, "ipip": 20, "sit": 20, "ip6tnl": 40, "ip6gre": 44,
	"wireguard": 60, "tun": 0, "tuntap": 0,
}

// tunnel reports whether a device wraps what it carries.
func (d device) tunnel() bool {
	_, ok := overheads[d.kind]
	return ok
}

// devices reads the devices of all hosts once for a network.
func (s *session) devices() (map[string]device, error) {
	if s.known != nil {
		return s.known, nil
	}
	all, indexes := map[string]device{}, map[string]int{}
	for host, path := range s.readable() {
		list, err := sampler.Devices(path)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			one := device{host, d.Name, d.Kind, d.MTU}
			all[one.String()], indexes[one.String()] = one, d.Index
		}
	}
	s.known, s.indexes = all, indexes
	return all, nil
}

// scene describes a trial. Hosts whose namespaces cannot be read are not in it.
func (s *session) scene(t *record.Trial, links []link) (scene, error) {
	sc := scene{ends: t.Endpoints, flows: t.Flows, counted: t.Counters, uplinks: map[string]device{}, probes: s.network.Fragments}
	known, err := s.devices()
	if err != nil {
		return sc, err
	}
	ends := names(links)
	for host := range s.readable() {
		if !slices.Contains(ends, host) {
			sc.hosts = append(sc.hosts, host)
		}
	}
	slices.Sort(sc.hosts)
	for _, l := range links {
		var own []device
		for _, h := range l.hops {
			d, ok := known[h.Name]
			if !ok || h.Kind != network.Device || h.Absent {
				continue
			}
			own = append(own, d)
			if !slices.Contains(sc.path, d) {
				sc.path = append(sc.path, d)
			}
		}
		sc.paths = append(sc.paths, own)
	}
	if s.topo.Hosts > 1 {
		for _, h := range s.network.Hosts {
			if d, ok := known[h.Name()+"/"+h.Uplink().Device]; ok {
				sc.uplinks[h.Name()] = d
			}
		}
	}
	return sc, nil
}

// most is the largest of some counters, summed at each place, and where that is.
func (sc scene) most(places []string, counters ...string) (where string, n uint64) {
	for _, place := range places {
		var sum uint64
		for _, c := range counters {
			sum += sc.counted[place+"/"+c]
		}
		if sum > n {
			where, n = place, sum
		}
	}
	return where, n
}

// endNames are the endpoints' names, each once.
func (sc scene) endNames() (all []string) {
	for _, e := range sc.ends {
		if !slices.Contains(all, e.Name) {
			all = append(all, e.Name)
		}
	}
	return all
}

// widest is the endpoint with the largest MTU.
func (sc scene) widest() (e record.Endpoint) {
	for _, one := range sc.ends {
		if one.MTU > e.MTU {
			e = one
		}
	}
	return e
}

// tightest is the endpoint with the smallest MTU.
func (sc scene) tightest() (e record.Endpoint) {
	for _, one := range sc.ends {
		if e.MTU == 0 || one.MTU < e.MTU {
			e = one
		}
	}
	return e
}

// narrowest is the device that lets the smallest packets of endpoints through, and how
// large they may be. 0 is not known.
func (sc scene) narrowest() (by device, size int) {
	wide := func(d device, mtu int) {
		if mtu > 0 && (size == 0 || mtu < size) {
			by, size = d, mtu
		}
	}
	for _, d := range sc.path {
		wide(d, d.mtu)
		if up, ok := sc.uplinks[d.host]; ok && overheads[d.kind] > 0 {
			wide(d, up.mtu-overheads[d.kind])
		}
	}
	for _, e := range sc.ends {
		if up, ok := sc.uplinks[e.Host]; ok {
			wide(up, up.mtu)
		}
	}
	return by, size
}

// nested is a tunnel on the path of a pair and the tunnel that it is wrapped in, if there is
// such. Several tunnels of a host that lead to several others are none.
func (sc scene) nested() (inner, outer device, ok bool) {
	for _, path := range sc.paths {
		for i, d := range path {
			if !d.tunnel() {
				continue
			}
			if up := sc.uplinks[d.host]; up.tunnel() && up != d {
				return d, up, true
			}
			for _, other := range path[i+1:] {
				if other.host == d.host && other != d && other.tunnel() {
					return d, other, true
				}
			}
		}
	}
	return inner, outer, false
}
