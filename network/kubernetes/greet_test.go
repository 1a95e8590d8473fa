package kubernetes

import (
	"net/netip"
	"slices"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
)

// TestWhereGreetingsArrive checks where servers listen for greetings: where packets arrive, which are translated or not.
func TestWhereGreetingsArrive(t *testing.T) {
	pod, service := netip.MustParseAddr("10.244.0.2"), netip.MustParseAddr("10.96.0.1")
	server, client := &plumb.Node{Addr4: pod}, &plumb.Node{Addr4: netip.MustParseAddr("10.244.1.2")}
	for name, c := range map[string]struct {
		reach      func(_, _ *plumb.Node, _ network.Family) netip.Addr
		translated bool
		at, own    netip.Addr
	}{
		"pods":                {nil, false, pod, pod},
		"containers of a pod": {plumb.OverLoopback, false, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.1")},
		"services":            {func(_, _ *plumb.Node, _ network.Family) netip.Addr { return service }, true, service, pod},
	} {
		n := &build{Network: &plumb.Network{Site: &plumb.Site{Topo: network.Topology{Hosts: 1, Servers: 1, Clients: 1}}, Reach: c.reach, Translated: c.translated}}
		n.Servers, n.Clients = []*plumb.Node{server}, []*plumb.Node{client}
		got := n.greeting(network.IPv4, func(kube.Ports) int { return 7 })
		if len(got) != 1 || got[0].At != netip.AddrPortFrom(c.at, 7) || got[0].Own != netip.AddrPortFrom(c.own, 7) {
			t.Errorf("%s: %+v, want a greeting to %v that arrives at %v", name, got, c.at, c.own)
		}
	}
}

// TestOnlyTrialsShowWhatTranslates has several servers: what has translated a greeting before the first trial need not be what
// translates later.
func TestOnlyTrialsShowWhatTranslates(t *testing.T) {
	service := netip.MustParseAddr("10.96.0.1")
	n := &build{Network: &plumb.Network{Site: &plumb.Site{Topo: network.Topology{Hosts: 1, Servers: 2, Clients: 2}}, Translated: true}}
	n.Reach = func(_, _ *plumb.Node, _ network.Family) netip.Addr { return service }
	for i := range 2 {
		n.Servers = append(n.Servers, &plumb.Node{Index: i, Addr4: netip.AddrFrom4([4]byte{10, 244, 0, byte(2 + i)})})
		n.Clients = append(n.Clients, &plumb.Node{Index: i, Addr4: netip.AddrFrom4([4]byte{10, 244, 1, byte(2 + i)})})
	}
	all := n.dialledAt(network.IPv4)
	if len(all) != 2 {
		t.Fatalf("%+v, want one for each server", all)
	}
	for i, d := range all {
		p := n.portsOf(i)
		if after := n.greeting(network.IPv4, afterTrials)[0].At.Port(); i == 0 && (int(after) < d.First || int(after) > d.Last) {
			t.Errorf("greetings after trials go to port %d, and what is asked for is %+v", after, d)
		}
		if d.To != service || d.First <= p.First || d.Last >= p.Last || d.First > d.Last || d.Servers[0] != n.Servers[i].Addr4 {
			t.Errorf("server %d, with ports %+v: %+v", i, p, d)
		}
	}
}

// TestWhoStillAnswers checks that policies that keep one protocol, or one IP version, from servers do not count as enforced.
func TestWhoStillAnswers(t *testing.T) {
	none, half := &unanswered{}, &unanswered{half: true}
	for _, c := range []struct {
		four, six *unanswered
		want      []network.Family
	}{
		{none, none, nil}, {none, half, []network.Family{network.IPv6}}, {half, none, []network.Family{network.IPv4}}, {none, nil, []network.Family{network.IPv6}},
	} {
		got := answered([]network.Family{network.IPv4, network.IPv6}, map[network.Family]*unanswered{network.IPv4: c.four, network.IPv6: c.six})
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v, %+v: %v, want %v", c.four, c.six, got, c.want)
		}
	}
}
