package docker

import (
	"testing"

	"nettoll/docker/engine"
	"nettoll/internal/plumb"
	"nettoll/platform"
)

// TestCardsOfMachinesWithoutContainers has one client on three machines: that the payload does not cross the third is no doubt
// about its path.
func TestCardsOfMachinesWithoutContainers(t *testing.T) {
	n := &build{Network: &plumb.Network{Site: &plumb.Site{}}}
	for i := range 3 {
		e := engine.Borrow(nil, i, false)
		e.SetUplink(platform.Uplink{Device: "eth0"})
		n.Hosts = append(n.Hosts, &plumb.Host{Host: e, Index: i})
	}
	n.Servers, n.Clients = []*plumb.Node{{Host: n.Hosts[0]}}, []*plumb.Node{{Host: n.Hosts[1]}}
	remark, wrong := n.onCard(plumb.UplinkHops(n.Hosts[1], n.Hosts[0]))
	if remark != "by their counters, h1/eth0 and h2/eth0 carried the payload between the machines" || wrong != "" {
		t.Errorf("%s; %s", remark, wrong)
	}
}
