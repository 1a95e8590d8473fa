package networktest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/network"
	"nettoll/platform"
)

// comesAndGoes builds networks on hosts that stay, looks at addresses and paths, takes
// them down, and compares what is on the hosts before and after. The first is described
// for the page. So it does with a network that is given up before it is begun, and with
// one that is given up half-way.
func comesAndGoes(t *testing.T, s *subject, hosts int) {
	on, kept := s.keep(t, hosts)
	before := State(t, kept.All()...)
	var took time.Duration
	sizes := [][2]int{{1, 1}, {2, 3}}
	if s.slow() {
		sizes = sizes[:1] // the larger one is for traffic alone
	}
	for _, size := range sizes {
		topo := network.Topology{Hosts: hosts, Servers: size[0], Clients: size[1]}
		begun := time.Now()
		n, err := s.Connect(t.Context(), topo, on)
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(begun)
		endpoints(t, s, n, topo)
		if topo.Clients == 1 {
			describe(t, s, n, hosts)
		}
		for range 2 { // the second time must do no harm
			if err := n.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		Same(t, "when it was closed", before, State(t, kept.All()...))
	}
	topo := network.Topology{Hosts: hosts, Servers: 2, Clients: 2}
	for when, patience := range map[string]time.Duration{"before it was begun": 0, "half-way": took / 2} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		n, err := s.Connect(ctx, topo, on)
		switch {
		case err == nil:
			if err := n.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		case ctx.Err() == nil || patience == 0 && !errors.Is(err, ctx.Err()):
			t.Errorf("given up %s: %v", when, err)
		}
		cancel()
		Same(t, "when it was given up "+when, before, State(t, kept.All()...))
	}
}

// The ranges set aside for benchmarking, RFC 2544 and RFC 5180.
var (
	range4 = netip.MustParsePrefix("198.18.0.0/15")
	range6 = netip.MustParsePrefix("2001:2::/48")
)

func endpoints(t *testing.T, s *subject, n *network.Network, topo network.Topology) {
	if got := len(n.Servers); got != topo.Servers {
		t.Fatalf("%d servers, want %d", got, topo.Servers)
	}
	if got := len(n.Clients); got != topo.Clients {
		t.Fatalf("%d clients, want %d", got, topo.Clients)
	}
	whereabouts(t, n)
	for i, c := range n.Clients {
		to := n.Servers[topo.Pair(i)]
		for _, f := range s.families() {
			a, err := n.Addr(c, to, f)
			if err != nil {
				t.Error(err)
				continue
			}
			if a.Is6() != (f == network.IPv6) {
				t.Errorf("%s is not an address of family %d", a, f)
			}
			if !a.IsLoopback() && !range4.Contains(a) && !range6.Contains(a) {
				t.Errorf("%s is outside the ranges for benchmarking", a)
			}
			if len(n.Path(c, to, f)) == 0 {
				t.Errorf("no path from %s to %s", c.Name(), to.Name())
			}
			ownAddress(t, n, c, to, f)
		}
	}
}

// whereabouts wants endpoints and daemons to be on hosts of the network, by their names.
func whereabouts(t *testing.T, n *network.Network) {
	t.Helper()
	hosts := map[string]bool{}
	for _, h := range n.Hosts {
		hosts[h.Name()] = true
		if h.OnHost() != h.Name() {
			t.Errorf("the host %s says that it is on %q", h.Name(), h.OnHost())
		}
	}
	if len(hosts) == 0 {
		t.Error("the network shows no hosts")
	}
	for _, e := range slices.Concat(n.Servers, n.Clients) {
		if !hosts[e.OnHost()] {
			t.Errorf("%s is on %q, which is not a host of the network", e.Name(), e.OnHost())
		}
	}
	for _, p := range n.Daemons {
		if !hosts[p.Host] {
			t.Errorf("daemon %d is on %q, which is not a host of the network", p.PID, p.Host)
		}
	}
}

// ownAddress wants a server to be told to listen on an address that it has.
func ownAddress(t *testing.T, n *network.Network, from, to platform.Endpoint, f network.Family) {
	t.Helper()
	own, err := n.Own(from, to, f)
	if err != nil {
		t.Error(err)
		return
	}
	ns := to.Facts().NetNS
	if ns == "" {
		return
	}
	err = netns.Do(ns, func() error {
		has, err := net.InterfaceAddrs()
		if err == nil && !slices.ContainsFunc(has, func(a net.Addr) bool { return strings.HasPrefix(a.String(), own.String()+"/") }) {
			t.Errorf("%s is told to listen on %s, and has %v", to.Name(), own, has)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// patience bounds the making of hosts.
const patience = 60 * time.Second
