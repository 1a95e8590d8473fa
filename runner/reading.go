package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// hostOfRole returns the host that all endpoints of a role are on, or "" if there are several.
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

// readable returns the namespaces of hosts that can be read from here and belong to the network
// only: other activity on a user's machine is not part of the trial.
func (s *session) readable() map[string]string {
	all := map[string]string{}
	for _, h := range s.network.Hosts {
		if f := h.Facts(); f.NetNS != "" && !f.Borrowed {
			all[h.Name()] = f.NetNS
		}
	}
	return all
}

// ownMachine returns the names of hosts that are the machine that nettoll runs on. Of their counters, only those of connection
// tracking are read, whose table the network shares with everything else there.
func (s *session) ownMachine() (hosts []string) {
	for _, h := range s.network.Hosts {
		if f := h.Facts(); f.NetNS != "" && f.Borrowed {
			hosts = append(hosts, h.Name())
		}
	}
	return hosts
}

// reading holds what is read right before and right after a trial.
type reading struct {
	at       time.Time
	counters map[string]uint64 // see count
	routes   map[string]string // see routes
	ports    map[string]port   // see ports
}

func (s *session) read(ctx context.Context, links []link) (v reading, err error) {
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
	each := endpoints(links)
	counted, err := answers[map[string]uint64](ctx, each, sampler.MethodCounters, func(end) any { return nil })
	if err != nil {
		return nil, err
	}
	all := map[string]uint64{}
	for i, e := range each {
		for name, v := range counted[i] {
			all[e.Name()+"/"+name] = v
		}
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
	for _, name := range s.ownMachine() {
		c, err := sampler.Tracking("/proc")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for counter, v := range c {
			all[name+"/"+counter] = v
		}
	}
	return all, nil
}

// names returns the names of a trial's endpoints.
func names(links []link) []string { return record.Each(endsOf(links), end.Name) }

// A path is proved by counters of the devices on it. Whether the devices are still connected in the
// same way is checked separately: the ports of a bridge keep counting if they are moved to another
// bridge in the middle of a trial.

// changed describes how the path differs from before, or returns "".
func changed(p *proof, before, after reading, bridge func(host string, index int) string) string {
	hops, was, is := p.taken()
	what := cmp.Or(moved(hops, was, is, bridge), rerouted(before.routes, after.routes))
	if what == "" {
		return ""
	}
	return "the path changed during the trial: " + what
}

// misfit describes a device that is not of its kind, or not attached as the network says, or returns "". Nothing else than a name would
// tell it from another one. Devices that were given the MTU that makes cells alike do not have the network's; 0 is none.
func (p *proof) misfit(alike int) string {
	at := map[string]network.Joint{}
	for i, h := range p.hops {
		at[h.Name] = p.before[i].At
	}
	for i, h := range p.hops {
		own, other, mtu := p.before[i].At, at[h.Meets], p.before[i].MTU
		switch {
		case h.May || own == network.Joint{}: // it need not be crossed, or is no device
		case h.Link != "" && own.Kind != h.Link:
			return fmt.Sprintf("wrong path: %s is of the kind %s, and should be of the kind %s", h.Name, own.Kind, h.Link)
		case other.Index != 0 && own.Peer != other.Index:
			return fmt.Sprintf("wrong path: %s is not connected to %s", h.Name, h.Meets)
		case h.Master != 0 && own.Master != h.Master:
			return fmt.Sprintf("wrong path: %s is not a port of its bridge", h.Name)
		case h.MTU != 0 && mtu != 0 && mtu != h.MTU && mtu != alike:
			return fmt.Sprintf("wrong path: the MTU of %s is %d, and should be %d", h.Name, mtu, h.MTU)
		}
	}
	return ""
}

// taken returns the hops that the payload took, with their counts before and after the trial.
func (p *proof) taken() (hops []network.Hop, was, is []network.Count) {
	for i, h := range p.hops {
		if !h.May || slices.ContainsFunc(p.found, func(f network.Hop) bool { return f.Name == h.Name }) {
			hops, was, is = append(hops, h), append(was, p.before[i]), append(is, p.after[i])
		}
	}
	return hops, was, is
}

// moved describes which device is no longer connected as it was, or returns "". bridge returns the
// name of a host's device with the given index.
func moved(hops []network.Hop, before, after []network.Count, bridge func(host string, index int) string) string {
	for i, h := range hops {
		a, b := before[i].At, after[i].At
		if a == b {
			continue
		}
		host, _, _ := strings.Cut(h.Name, "/")
		switch {
		case a.Index != b.Index || a.Kind != b.Kind:
			return h.Name + " was recreated"
		case a.Master == b.Master:
			return "the other end of " + h.Name + " is now a different device"
		case b.Master == 0:
			return fmt.Sprintf("%s was a port of %s, and is no longer a port of any bridge", h.Name, bridge(host, a.Master))
		case a.Master == 0:
			return fmt.Sprintf("%s has become a port of %s", h.Name, bridge(host, b.Master))
		}
		return fmt.Sprintf("%s was a port of %s, and is now a port of %s", h.Name, bridge(host, a.Master), bridge(host, b.Master))
	}
	return ""
}

// bridge returns the name of a host's device with the given index.
func (s *session) bridge(host string, index int) string {
	if path, ok := s.readable()[host]; ok {
		all, err := sampler.Devices(path)
		for _, d := range all {
			if err == nil && d.Index == index {
				return d.Name
			}
		}
	}
	return fmt.Sprintf("the device with index %d", index)
}

// routes returns the routes of the network's hosts, and those by which the endpoints send to each
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
	each := waysOf(links)
	leads, err := answers[string](ctx, each, sampler.MethodRoute, peerOf)
	for i, e := range each {
		all[e.Name()+": "+e.peer.String()] = leads[i]
	}
	return all, err
}

// rerouted describes which route has changed, or returns "".
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
			return fmt.Sprintf("%s has lost its route to %s, which led %s", where, to, was)
		case !had:
			return fmt.Sprintf("%s has a new route to %s, which leads %s", where, to, is)
		default:
			return fmt.Sprintf("the route of %s to %s led %s, and now leads %s", where, to, was, is)
		}
	}
	return ""
}
