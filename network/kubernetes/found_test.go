package kubernetes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/sampler"
)

// called is a host with a name and nothing else.
type called struct {
	platform.Host
	name string
}

func (c called) Name() string { return c.name }

// TestWhatIsExpected checks what is said of devices that counted the payload, and when that contradicts what is expected.
func TestWhatIsExpected(t *testing.T) {
	hop := func(name, about string) network.Hop { return network.Hop{Name: name, About: about, May: true} }
	client, server := &plumb.Host{Host: called{name: "h2"}}, &plumb.Host{Host: called{name: "h1"}}
	card, bridge, tunnel := hop("h2/ens5", "device"), hop("h2/cni0", "bridge"), hop("h2/flannel.1", "vxlan")
	pod, far := hop("h2/veth-h2c1", "veth (port of cni0)"), hop("h1/ens5", "device")
	farTunnel, farBridge := hop("h1/flannel.1", "vxlan"), hop("h1/cni0", "bridge")
	own := map[*plumb.Host][]network.Hop{client: {bridge, tunnel, card}, server: {farBridge, farTunnel, far}}
	overlay, plain := []network.Hop{pod, bridge, tunnel, card, far, farTunnel}, []network.Hop{pod, bridge, card, far}
	for _, c := range []struct {
		expect, wrong string
		crossed       []network.Hop
	}{
		{"", "", overlay},
		{"", "", []network.Hop{pod, bridge}},
		{"vxlan", "", overlay},
		{"geneve", "wrong path: the payload crossed flannel.1 (vxlan), ens5 of h2, and no geneve device, which is expected to carry it", overlay},
		{"plain", "wrong path: the payload crossed flannel.1 (vxlan) of h2, and no tunnel is expected to carry it", overlay},
		{"plain", "", plain},
		{"vxlan", "wrong path: the payload crossed ens5 of h2, and no vxlan device, which is expected to carry it", plain},
		{"vxlan", "wrong path: the payload crossed ens5 of h1, and no vxlan device, which is expected to carry it", []network.Hop{pod, bridge, tunnel, card, far}},
		{"plain", "path not proved: nothing that leads out of h1 has counted the payload, and plain is expected to carry it", []network.Hop{pod, bridge, card, farBridge}},
	} {
		o := &observed{hosts: []*plumb.Host{server, client}, own: own, expect: c.expect}
		if got := o.found(c.crossed, nil, network.IPv4).Wrong; got != c.wrong {
			t.Errorf("expected %q: %q, want %q", c.expect, got, c.wrong)
		}
	}
	one := (&observed{hosts: []*plumb.Host{client}, own: own, expect: "vxlan"}).found([]network.Hop{pod, pod}, nil, network.IPv4)
	if want := "counters of the nodes show what carried the payload: on h2 the pods' veth (port of cni0)"; one != (network.Finding{Remark: want}) {
		t.Errorf("%+v, want %q", one, want)
	}
	two := (&observed{hosts: []*plumb.Host{server, client}, own: own}).found([]network.Hop{pod, bridge, tunnel, card}, nil, network.IPv4)
	for _, want := range []string{"on h2 the pods' veth (port of cni0), cni0 (bridge), flannel.1 (vxlan), ens5; ", "on h1 no device, and nothing that leads out of the node"} {
		if !strings.Contains(two.Remark, want) {
			t.Errorf("%q does not say %q", two.Remark, want)
		}
	}
	if want := "what carries the payload out of h1 is not proved: no device that leads out of the node has counted it"; two.Unproved != want {
		t.Errorf("not proved: %q, want %q", two.Unproved, want)
	}
}

// TestWhatOthersHide has others send so much over devices that it is not known whether the payload crosses them: nothing is said to
// contradict what is expected, or to be as expected.
func TestWhatOthersHide(t *testing.T) {
	hop := func(name, about string) network.Hop { return network.Hop{Name: name, About: about, May: true} }
	client, server := &plumb.Host{Host: called{name: "h2"}}, &plumb.Host{Host: called{name: "h1"}}
	card, tunnel, bridge, far := hop("h2/ens5", "device"), hop("h2/flannel.1", "vxlan"), hop("h2/cni0", "bridge"), hop("h1/ens5", "device")
	own := map[*plumb.Host][]network.Hop{client: {bridge, tunnel, card}, server: {far}}
	claims := map[*plumb.Host]kube.Claims{client: {IPv4: kube.Claim{By: "flannel", Tunnels: []string{"vxlan"}}}, server: {IPv4: kube.Claim{By: "flannel"}}}
	pod := hop("h2/veth-h2c1", "veth (port of cni0)")
	const outUnproved = "path not proved: nothing that leads out of h2 has counted the payload, and plain is expected to carry it"
	const tunnelUnproved = "whether the payload crosses h2/flannel.1 is not proved: others send as much there"
	for _, c := range []struct {
		expect          string
		crossed, unsure []network.Hop
		wrong, unproved string
	}{
		{"vxlan", []network.Hop{card, far}, []network.Hop{tunnel}, "wrong path: the payload crossed ens5 of h1, and no vxlan device, which is expected to carry it", tunnelUnproved},
		{"vxlan", []network.Hop{tunnel}, []network.Hop{far}, "path not proved: no vxlan device of h1 has counted the payload, and one is expected to carry it", "whether the payload crosses h1/ens5 is not proved: others send as much there"},
		{"plain", []network.Hop{card, far}, []network.Hop{tunnel}, "", tunnelUnproved},
		{"plain", []network.Hop{far}, []network.Hop{card}, "", "whether the payload crosses h2/ens5 is not proved: others send as much there"},
		{"plain", []network.Hop{far}, []network.Hop{bridge}, outUnproved, "what carries the payload out of h2 is not proved: no device that leads out of the node has counted it"},
		{"plain", []network.Hop{far}, []network.Hop{pod}, outUnproved, "what carries the payload out of h2 is not proved: no device that leads out of the node has counted it"},
	} {
		o := &observed{hosts: []*plumb.Host{server, client}, own: own, expect: c.expect, claims: claims}
		got := o.found(c.crossed, c.unsure, network.IPv4)
		if got.Wrong != c.wrong || got.Unproved != c.unproved || got.Doubt != "" || strings.Contains(got.Remark, "that is what") {
			t.Errorf("expected %s: %+v, want %q, %q", c.expect, got, c.wrong, c.unproved)
		}
	}
}

// TestWhatPodsDoNotSee checks what is said not to be proved where there are no agents on the nodes: what carries the payload between
// pods and, if the clients dial another address than that of the server's pod, what translates it.
func TestWhatPodsDoNotSee(t *testing.T) {
	n := &build{Network: &plumb.Network{Site: &plumb.Site{}}, cluster: &kube.Cluster{}}
	n.cluster.Nodes = []*kube.Node{{Host: called{name: "h1"}, As: "alpha"}, {Host: called{name: "h2"}, As: "beta"}}
	n.Servers, n.Clients = []*plumb.Node{{}}, []*plumb.Node{{}}
	if err := n.betweenPods(t.Context()); err != nil {
		t.Fatal(err)
	}
	unproved := func(want string) {
		t.Helper()
		if got := strings.Join(n.Unproved, "; "); got != want {
			t.Errorf("not proved: %q, want %q", got, want)
		}
	}
	unproved("what carries the payload between the pods is not proved, since nettoll sees only pods (--node-agent shows it)")
	n.atAddress(nil)
	unproved("what translates the addresses that clients dial, and carries the payload between the pods, is not proved, since nettoll sees only pods (--node-agent shows what carries it, --node-privileged also what translates)")
	if !n.Servers[0].Devices.ByIP || !n.Clients[0].Devices.ByIP {
		t.Error("what IP has received in the pods is not read")
	}
	if got, want := strings.Join(n.Notes, "; "), "h1 is the node alpha, h2 is the node beta; the payload has crossed eth0 of both pods"; got != want {
		t.Errorf("remarks %q, want %q", got, want)
	}
}

// TestClaims checks when what carried the payload is unlike what the CNI plugin says.
func TestClaims(t *testing.T) {
	host := &plumb.Host{Host: called{name: "h1"}}
	hop := func(device, kind string) network.Hop {
		return network.Hop{Name: "h1/" + device, May: true, About: kind}
	}
	bridge, flannel, wireguard, ipsec, card := hop("cni0", "bridge"), hop("flannel.1", "vxlan"), hop("wg0", "wireguard"), hop("ipsec0", "xfrm"), hop("ens5", "device")
	all := []network.Hop{bridge, flannel, wireguard, ipsec, card}
	const none = "flannel says in an annotation of the node of h1 that it has tunnels (vxlan), and the payload crossed none of these there, as between nodes of one subnet that need none"
	tunnels, plain, nobody := kube.Claim{By: "flannel", Tunnels: []string{"vxlan"}}, kube.Claim{By: "flannel"}, kube.Claim{}
	for _, c := range []struct {
		claim   kube.Claim
		crossed []network.Hop
		want    string
	}{
		{nobody, []network.Hop{bridge, flannel, card}, ""},
		{plain, []network.Hop{bridge, card}, ""},
		{plain, []network.Hop{bridge, wireguard, card}, "flannel says in an annotation of the node of h1 that it has plain routes, and the payload crossed wg0 (wireguard) there"},
		{plain, []network.Hop{bridge, ipsec, card}, "flannel says in an annotation of the node of h1 that it has plain routes, and the payload crossed ipsec0 (xfrm) there"},
		{tunnels, []network.Hop{bridge, flannel, card}, ""},
		{tunnels, []network.Hop{bridge, flannel, wireguard, card}, ""},
		{tunnels, []network.Hop{bridge, card}, none},
		{tunnels, []network.Hop{bridge, wireguard, card}, "flannel says in an annotation of the node of h1 that it has tunnels (vxlan), and the payload crossed wg0 (wireguard) there instead"},
		{tunnels, []network.Hop{bridge, card, {Name: "h2/flannel.1", May: true, About: "vxlan"}}, none}, // there, and not here
		{tunnels, []network.Hop{bridge}, ""}, // what leads out of the node is not proved at all
	} {
		other := &plumb.Host{Host: called{name: "h2"}}
		o := &observed{hosts: []*plumb.Host{other, host}, own: map[*plumb.Host][]network.Hop{host: all}, claims: map[*plumb.Host]kube.Claims{host: {IPv4: c.claim}}}
		if got := o.found(c.crossed, nil, network.IPv4).Doubt; got != c.want {
			t.Errorf("%+v: %q, want %q", c.claim, got, c.want)
		}
		if got := o.found(c.crossed, nil, network.IPv6); got.Doubt != "" {
			t.Errorf("%+v of the other IP version: %q", c.claim, got.Doubt)
		}
	}
	client := &plumb.Host{Host: called{name: "h2"}}
	far := network.Hop{Name: "h2/ens5", May: true, About: "device"}
	agreed := "; that is what flannel says of its nodes"
	for claims, want := range map[[2]string]bool{{"flannel", "flannel"}: true, {"flannel", ""}: false, {"", "flannel"}: false, {"", ""}: false} {
		o := &observed{hosts: []*plumb.Host{host, client}, own: map[*plumb.Host][]network.Hop{host: all, client: {far}}, claims: map[*plumb.Host]kube.Claims{}}
		o.claims[host], o.claims[client] = kube.Claims{IPv4: kube.Claim{By: claims[0]}}, kube.Claims{IPv4: kube.Claim{By: claims[1]}}
		if got := o.found([]network.Hop{far, bridge, card}, nil, network.IPv4).Remark; strings.HasSuffix(got, agreed) != want {
			t.Errorf("if %q say that they have plain routes: %s", claims, got)
		}
		for _, crossed := range [][]network.Hop{{far, bridge, wireguard, card}, {far, bridge}} { // unlike that, and not proved
			if got := o.found(crossed, nil, network.IPv4).Remark; strings.HasSuffix(got, agreed) {
				t.Errorf("if %q say that they have plain routes, over %+v: %s", claims, crossed, got)
			}
		}
	}
}

// TestDevicesOfNodes finds, among the devices of a node whose network card is a veth device, too, the end of a pod, and those that
// lead to no pod.
func TestDevicesOfNodes(t *testing.T) {
	device := func(index int, name, kind string, peer int, home nl.Home) nl.Interface {
		return nl.Interface{Index: index, Name: name, Kind: kind, Peer: peer, Home: home}
	}
	all := []nl.Interface{
		device(1, "lo", "device", 0, nl.Here), device(2, "ens5", "veth", 9, 0), device(3, "flannel.1", "vxlan", 2, nl.Here), device(4, "docker0", "bridge", 0, nl.Here),
		device(5, "cni0", "bridge", 0, nl.Here), device(6, "veth1", "veth", 2, 1), device(7, "veth2", "veth", 2, 2),
	}
	for eth0, want := range map[nl.Interface]string{
		device(2, "eth0", "veth", 6, 0): "veth1", device(2, "eth0", "veth", 7, 0): "veth2", device(3, "eth0", "veth", 7, 0): "", device(2, "eth0", "netkit", 7, 0): "",
		device(8, "eth0", "macvlan", 2, 0): "", // on top of ens5
	} {
		if end, ok := otherEnd(eth0, all); ok != (want != "") || end.Name != want {
			t.Errorf("%+v leads to %q, want %q", eth0, end.Name, want)
		}
	}
	var got []string
	for _, h := range ownHops(all, map[string]bool{"veth1": true}, map[int]bool{5: true}, "ens5", func(device, _, about string) network.Hop {
		return network.Hop{Name: device, About: about}
	}) {
		got = append(got, h.Name+" "+h.About)
		if uplink := h.Name == "ens5"; h.Common != uplink {
			t.Errorf("%s is one that others use, too: %v", h.Name, h.Common)
		}
	}
	if want := []string{"cni0 bridge", "docker0 bridge", "flannel.1 vxlan", "ens5 veth"}; !slices.Equal(got, want) {
		t.Errorf("the node's own devices are %q, want %q", got, want)
	}
}

// TestNodesWithoutPods has one client on three nodes: that nothing leads out of the third is no doubt about the path.
func TestNodesWithoutPods(t *testing.T) {
	n := &build{Network: &plumb.Network{Site: &plumb.Site{}}}
	for i := range 3 {
		n.Hosts = append(n.Hosts, &plumb.Host{Index: i})
	}
	n.Servers, n.Clients, n.Neighbours = []*plumb.Node{{Host: n.Hosts[0]}}, []*plumb.Node{{Host: n.Hosts[1]}}, []*plumb.Node{{Host: n.Hosts[2]}}
	if got := n.talking(); len(got) != 2 || got[0] != n.Hosts[0] || got[1] != n.Hosts[1] {
		t.Errorf("%d of the hosts: %+v", len(got), got)
	}
}

// TestWhatTranslates checks what is said of what nodes know of connections.
func TestWhatTranslates(t *testing.T) {
	node := func(on string, tracked, dnat, ipvs int, err error) handled {
		return handled{on, sampler.Translated{Tracked: tracked, DNAT: dnat, IPVS: ipvs}, err}
	}
	denied := errors.New("operation not permitted")
	for _, c := range []struct {
		all  []handled
		want string
	}{
		{[]handled{node("h1", 2, 2, 0, nil)}, "the addresses that clients dial were translated by conntrack (DNAT) on h1"},
		{[]handled{node("h1", 2, 2, 0, nil), node("h2", 3, 0, 0, nil)}, "the addresses that clients dial were translated by conntrack (DNAT) on h1"},
		{[]handled{node("h1", 2, 2, 0, nil), node("h2", 0, 0, 0, denied)}, "the addresses that clients dial were translated by conntrack (DNAT) on h1"},
		{[]handled{node("h1", 0, 0, 0, nil), node("h2", 3, 0, 3, nil)}, "the addresses that clients dial were translated by IPVS on h2"},
		{[]handled{node("h1", 1, 1, 0, nil), node("h2", 1, 1, 2, nil)}, "the addresses that clients dial were translated by conntrack (DNAT) on h1 and h2, and by IPVS on h2"},
		{[]handled{node("h1", 0, 0, 0, denied), node("h2", 1, 0, 0, nil)}, "what translates the addresses that clients dial is not proved: on h1, operation not permitted"},
		{[]handled{node("h1", 0, 0, 0, nil), node("h2", 1, 0, 0, nil)}, "neither conntrack nor IPVS on the nodes has translated the addresses that clients dial, although conntrack on h2 knows such connections: something else does, such as a load balancer outside of the nodes"},
		{[]handled{node("h1", 0, 0, 0, nil), node("h2", 0, 0, 0, nil)}, "neither conntrack nor IPVS on the nodes has translated the addresses that clients dial, nor does conntrack know such connections: something else does, such as BPF programs (as Cilium has)"},
	} {
		remark, unproved := translated(c.all)
		if unknown := !strings.Contains(c.want, "were translated by"); remark+unproved != c.want || unknown != (remark == "") {
			t.Errorf("%+v: %q, not proved: %q, want %q", c.all, remark, unproved, c.want)
		}
	}
}
