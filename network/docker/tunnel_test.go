package docker

import (
	"strings"
	"testing"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// onTwoOfThree has one client and one server on three machines.
func onTwoOfThree() *build {
	n := &build{Network: &plumb.Network{Site: &plumb.Site{}}}
	for i := range 3 {
		e := engine.Borrow(nil, i, false)
		e.SetUplink(platform.Uplink{Device: "eth0"})
		n.Hosts, n.engines = append(n.Hosts, &plumb.Host{Host: e, Index: i}), append(n.engines, e)
	}
	n.Servers, n.Clients = []*plumb.Node{{Host: n.Hosts[0]}}, []*plumb.Node{{Host: n.Hosts[1]}}
	return n
}

// TestCardsOfMachinesWithoutContainers: that the payload does not cross the third machine is no doubt about its path.
func TestCardsOfMachinesWithoutContainers(t *testing.T) {
	n := onTwoOfThree()
	hops := plumb.UplinkHops(n.Hosts[1], n.Hosts[0])
	got, want := n.onCard(hops, nil, network.IPv4), network.Finding{Remark: "by their counters, h1/eth0 and h2/eth0 carried the payload between the machines"}
	if got != want {
		t.Errorf("%+v", got)
	}
	got, want = n.onCard(hops[:1], nil, network.IPv4), network.Finding{Unproved: "what carried the payload between the machines is not proved: by its counters, it was not h1/eth0"}
	if got != want {
		t.Errorf("by one card: %+v", got)
	}
	got, want = n.onCard(hops[:1], hops[1:], network.IPv4), network.Finding{Unproved: "what carried the payload between the machines is not proved: others send as much over h1/eth0"}
	if got != want {
		t.Errorf("by one card, and perhaps another: %+v", got)
	}
}

// TestDevicesOfMachinesWithoutContainers: the third machine has no device of the overlay that could be hidden.
func TestDevicesOfMachinesWithoutContainers(t *testing.T) {
	n := onTwoOfThree()
	overlay := &tunnel{n: n}
	if err := overlay.find(); err != nil {
		t.Fatal(err)
	}
	n.insides("lb", "lb", "eth0")
	if len(n.Notes) != 4 {
		t.Errorf("notes %q, want one of the overlay and one of the load balancer on each of two machines", n.Notes)
	}
	for _, note := range n.Notes {
		if strings.Contains(note, "h3") {
			t.Error(note)
		}
	}
}
