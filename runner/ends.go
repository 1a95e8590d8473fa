package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"

	"nettoll/agent"
	"nettoll/internal/atonce"
	"nettoll/internal/wrap"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// agents are the agents of one network: one for each endpoint, role and client process, so that the CPU times of
// client and server are separate even if both run in the same place. They are kept for all trials of a visit.
type agents map[agentKey]*AgentEndpoint

type agentKey struct {
	endpoint platform.Endpoint
	role     string
	process  int // if a container has several clients
}

// AgentEndpoint is an endpoint with an agent in it.
type AgentEndpoint struct {
	platform.Endpoint
	starting sync.Mutex
	client   *agent.Client
}

// in returns the endpoint of a role and process, always the same one.
func (a agents) in(e platform.Endpoint, role string, process int) *AgentEndpoint {
	k := agentKey{e, role, process}
	if a[k] == nil {
		a[k] = &AgentEndpoint{Endpoint: e}
	}
	return a[k]
}

// Agent returns the running agent, which belongs to the runner. An agent that has ended is
// replaced.
func (m *AgentEndpoint) Agent(ctx context.Context) (*agent.Client, error) {
	m.starting.Lock()
	defer m.starting.Unlock()
	if m.client != nil && m.client.Err() == nil {
		return m.client, nil
	}
	var err error
	m.client, err = agent.Start(ctx, m.Endpoint)
	return m.client, err
}

// Call calls a method of the endpoint's agent.
func (m *AgentEndpoint) Call(ctx context.Context, method string, in, out any) error {
	c, err := m.Agent(ctx)
	if err != nil {
		return err
	}
	return c.Call(ctx, method, in, out)
}

func (a agents) close() error {
	return errors.Join(atonce.Each(-1, slices.Collect(maps.Values(a)), func(_ int, m *AgentEndpoint) error {
		if m.client == nil {
			return nil
		}
		err := m.client.Close()
		if errors.Is(err, agent.ErrKilled) { // the trial in which it hung has failed, and nothing is left of it
			return nil
		}
		return err
	})...)
}

// end is an endpoint in one of its roles. Several clients in one container are one end.
type end struct {
	*AgentEndpoint
	role      string
	peer, own netip.Addr
}

// endsOf lists the endpoints of a trial, once for each of their roles, in the order of the links.
func endsOf(links []link) []end {
	type taken struct {
		endpoint platform.Endpoint
		role     string
	}
	return firstOf(sides(links), func(e end) taken { return taken{e.Endpoint, e.role} })
}

// waysOf lists them once for each address that they send to: a server may have a device for each of its clients.
func waysOf(links []link) []end {
	type way struct {
		endpoint platform.Endpoint
		to       netip.Addr
	}
	return firstOf(sides(links), func(e end) way { return way{e.Endpoint, e.peer} })
}

// sides lists both ends of each link.
func sides(links []link) (all []end) {
	for _, l := range links {
		all = append(all, end{l.client, "client", l.toServer, l.toClient}, end{l.server, "server", l.toClient, l.toServer})
	}
	return all
}

// firstOf leaves out ends whose key an earlier one has.
func firstOf[K comparable](all []end, key func(end) K) []end {
	return record.Each(record.Gather(all, key), func(alike []end) end { return alike[0] })
}

// endpoints lists the endpoints of a trial, each once, in one of its roles.
func endpoints(links []link) []end { return firstOf(endsOf(links), end.Name) }

// atOnce is how many endpoints are asked concurrently.
const atOnce = 32

// ask calls do for all endpoints, several at a time, and returns the error of the first that failed.
func ask(all []end, do func(i int, s end) error) error {
	return cmp.Or(atonce.Each(atOnce, all, func(i int, e end) error {
		return wrap.Error(do(i, e), "%s", e.Name())
	})...)
}

// answers calls one method of every endpoint's agent and returns the answers.
func answers[T any](ctx context.Context, all []end, method string, in func(end) any) ([]T, error) {
	out := make([]T, len(all))
	return out, ask(all, func(i int, e end) error { return e.Call(ctx, method, in(e), &out[i]) })
}

func peerOf(e end) any { return e.peer }

// alikeMTU is the MTU of all endpoints of a cell that makes them alike, 0 of any other: it leaves room for the largest overhead of a network,
// Weave's, and is no smaller than IPv6 requires of every link (RFC 8200, section 5).
func alikeMTU(c record.Cell) int {
	if !c.Normalize {
		return 0
	}
	const overhead, least = 124, 1280
	mtu, _ := record.DimensionOf("mtu")
	under, _ := mtu.Number(c)
	return max(least, under-overhead)
}

// condition puts the endpoints into the state that the cell requires, once per network. If any network of the run takes
// turns, all keep the windows of connections that rest, so that they are set up alike.
func (s *session) condition(ctx context.Context, c record.Cell, links []link) error {
	want := sampler.Condition{NoOffloads: c.Offload == record.OffloadOff, MaxMTU: alikeMTU(c), KeepWindow: s.r.rests && !s.borrowed()}
	if s.conditioned || want == (sampler.Condition{}) {
		return nil
	}
	ways := waysOf(links)
	if err := s.keep(want, ways); err != nil {
		return err
	}
	err := ask(ways, func(_ int, at end) error {
		p, refused := want, ""
		p.Peer = at.peer
		// An agent in an engine's container cannot write its own settings: they are written from here.
		if ns := at.Facts().NetNS; want.KeepWindow && ns != "" {
			if err := sampler.KeepWindow(ns); err != nil {
				return err
			}
			p.KeepWindow = false
		}
		if err := at.Call(ctx, sampler.MethodCondition, p, &refused); err != nil {
			return err
		}
		if refused != "" {
			return &platform.Unsupported{
				Feature: "turning offloads off", Option: "a device that can turn off " + refused,
				Remedy: "measure this network without --offload off, or, if others are compared with it, name another baseline, such as --baseline veth",
			}
		}
		return nil
	})
	if err == nil && want.MaxMTU > 0 {
		err = s.narrow(want.MaxMTU, links)
	}
	s.conditioned = err == nil
	return err
}

// narrow reduces the MTU of the hosts' devices that lead to containers to that of the containers, which do not receive larger packets: a
// host sends such by itself, as the client or for a proxy.
func (s *session) narrow(mtu int, links []link) error {
	spaces := s.readable()
	for _, h := range s.network.Hosts {
		for _, l := range links {
			for _, at := range []struct {
				*AgentEndpoint
				own netip.Addr
			}{{l.client, l.toClient}, {l.server, l.atServer}} {
				if spaces[h.Name()] == "" || at.OnHost() != h.Name() || at.Name() == h.Name() {
					continue
				}
				restore, err := sampler.Narrow(spaces[h.Name()], at.own, mtu, h.Uplink().Device)
				if err != nil {
					return fmt.Errorf("%s: %w", h.Name(), err)
				}
				if restore != nil {
					s.restores = append(s.restores, restore)
				}
			}
		}
	}
	return nil
}

// keep notes the devices of hosts that a condition changes, so that they are restored when the network is closed: a host may outlive
// it. It refuses to change devices of machines of the user's.
func (s *session) keep(want sampler.Condition, ends []end) error {
	if !want.NoOffloads && want.MaxMTU == 0 {
		return nil
	}
	for _, at := range ends {
		f := at.Facts()
		if f.Around.Open {
			return &platform.Unsupported{
				Feature: "changing the offloads or the MTU of a machine of your own", Option: "endpoints with a network of their own",
				Remedy: "leave out --offload off and --normalize",
			}
		}
		host := s.hostWith(f.NetNS)
		if host == "" {
			continue
		}
		restore, err := sampler.Keep(host, at.peer)
		if err != nil {
			return fmt.Errorf("%s: %w", at.Name(), err)
		}
		s.restores = append(s.restores, restore)
	}
	return nil
}

// hostWith returns the namespace of a host, if it is the one at path; "" if it is that of no host.
func (s *session) hostWith(path string) string {
	own, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for _, h := range s.network.Hosts {
		at := h.Facts().NetNS
		if host, err := os.Stat(at); err == nil && os.SameFile(own, host) {
			return at
		}
	}
	return ""
}

// borrowed reports whether the network is on machines of the user's, whose parameters stay as they are. A connection
// that rests there for 200 ms or more has at most half of its window when it continues, and grows it while it settles.
// None of the network's containers keeps its window either, so that they are like the baseline's processes.
func (s *session) borrowed() bool {
	return slices.ContainsFunc(s.network.Hosts, func(h platform.Host) bool { return h.Facts().Borrowed })
}

// facts asks every endpoint for its facts, once for each role.
func facts(ctx context.Context, links []link) ([]record.Endpoint, error) {
	out, err := configured(ctx, links)
	for i, e := range endsOf(links) {
		known := e.Facts()
		out[i].Role, out[i].Address = e.role, e.own.String()
		out[i].Host, out[i].Open, out[i].Platform, out[i].Resources = e.OnHost(), known.Around.Open, known.About, known.Resources
		if known.NIC == nil || err != nil {
			continue
		}
		var card record.NIC
		card, err = known.NIC(ctx)
		out[i].NIC = &card
	}
	return out, err
}

// configured asks every endpoint how it is set up, once for each role.
func configured(ctx context.Context, links []link) ([]record.Endpoint, error) {
	all := endsOf(links)
	out, err := answers[record.Endpoint](ctx, all, sampler.MethodEndpoint, peerOf)
	for i, e := range all {
		out[i].Name = e.Name()
	}
	return out, err
}

// altered describes what was not as it had been when the network was first looked at, or returns "": figures of a network that
// changes are those of no network. before and after are the endpoints of the trial. What is connected to what is not part of it; see
// changed.
func (s *session) altered(p *proof, before, after []record.Endpoint) string {
	hops, was, is := p.taken()
	return cmp.Or(s.unlike(settingsOf(before, hops, was)), s.unlike(settingsOf(after, hops, is)))
}

// unlike describes the first setting that differs from what it was, or returns "".
func (s *session) unlike(now map[string]string) string {
	for _, what := range slices.Sorted(maps.Keys(now)) {
		was, known := s.had[what]
		if !known {
			s.had[what] = now[what]
		} else if was != now[what] {
			return fmt.Sprintf("the network was changed: %s was %s at first, and is %s now", what, was, now[what])
		}
	}
	return ""
}

// settingsOf returns what endpoints and devices are recorded to have that must stay as it is, by what it is.
func settingsOf(ends []record.Endpoint, hops []network.Hop, counts []network.Count) map[string]string {
	all := map[string]string{}
	for _, e := range ends {
		device := e.Name + "/" + e.Device
		all["the MTU of "+device], all["the qdisc of "+device] = strconv.Itoa(e.MTU), cmp.Or(e.Qdisc, "none")
		for name, on := range e.Offloads {
			all[name+" of "+device] = map[bool]string{true: "on", false: "off"}[on]
		}
		for key, value := range e.Sysctls {
			all[key+" of "+e.Name] = cmp.Or(value, "empty")
		}
	}
	for i, h := range hops {
		if mtu := counts[i].MTU; mtu > 0 {
			all["the MTU of "+h.Name] = strconv.Itoa(mtu)
		}
	}
	return all
}

// place records the CPUs to which the processes of the endpoints are pinned, or which they have for themselves.
func place(endpoints []record.Endpoint, cpus workload.CPUs) {
	for i, e := range endpoints {
		at := cpus.Server
		if e.Role == "client" {
			at = cpus.Client
		}
		if own := e.OwnCPUs(); own != nil {
			at = own
		}
		endpoints[i].CPUs = at
	}
}

// ownCPUs returns the CPUs that the endpoints of a role have for themselves, all together.
func ownCPUs(endpoints []record.Endpoint, role string) (all []int) {
	for _, e := range endpoints {
		if e.Role == role {
			all = record.AddNew(all, e.OwnCPUs()...)
		}
	}
	slices.Sort(all)
	return all
}
