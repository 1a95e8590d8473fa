package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload/engine"
)

// The following tests break real networks in the ways that users do.

// measured measures a cell once.
func measured(t *testing.T, tech network.Driver, c record.Cell, change func(*testing.T, *network.Network)) record.Trial {
	t.Helper()
	if err := tech.Probe(t.Context(), lab.New()); errors.Is(err, platform.ErrUnsupported) {
		t.Skip(err)
	} else {
		iferr.Fatal(t, err)
	}
	c.Network, c.Servers, c.Clients, c.Tool, c.Placement = "broken", 1, 1, "engine", record.PlacementFree
	changed := tech.Then(func(_ context.Context, _ network.Topology, n *network.Network) error {
		if change == nil {
			return nil
		}
		change(t, n)
		otherPath(n, func(real []network.Hop) []network.Hop { // as if the network had been built so
			for i := range real {
				real[i].MTU = 0
			}
			return real
		})
		return nil
	})
	return aRound(t, lab.New(), engine.New(), changed, c)[0]
}

// carried measures a cell whose traffic crosses: again if the trial has failed.
func carried(t *testing.T, tech network.Driver, c record.Cell, change func(*testing.T, *network.Network)) record.Trial {
	t.Helper()
	return again(func() []record.Trial { return []record.Trial{measured(t, tech, c, change)} })[0]
}

// said returns the text of a trial's warning with a code.
func said(tr record.Trial, code string) string {
	for _, w := range tr.Warnings {
		if w.Code == code {
			return w.Text
		}
	}
	return ""
}

// setMTU sets the MTU of devices of a namespace.
func setMTU(t *testing.T, e platform.Endpoint, mtu int, devices ...string) {
	t.Helper()
	in(t, e, func(n *nl.NS) error {
		for _, name := range devices {
			l, err := n.Link(name)
			if err != nil {
				return err
			}
			if err := n.LinkSetMTU(l, mtu); err != nil {
				return err
			}
		}
		return nil
	})
}

func in(t *testing.T, e platform.Endpoint, do func(*nl.NS) error) {
	t.Helper()
	iferr.Fatal(t, nl.With(e.Facts().NetNS, do))
}

// wide gives containers on a VXLAN the MTU of the underlay, which leaves no room for the tunnel's
// headers.
func wide(t *testing.T, n *network.Network) {
	for _, e := range slices.Concat(n.Servers, n.Clients) {
		setMTU(t, e, 1500, "eth0")
	}
	for _, h := range n.Hosts {
		setMTU(t, h, 1500, "veth0")
	}
}

// The underlay has less room than the tunnel was made for. The containers allow routers to fragment
// their packets.
func TestTunnelWhosePacketsAreCut(t *testing.T) {
	for _, family := range []int{4, 6} {
		tr := carried(t, kernel.VXLAN(), record.Cell{Hosts: 2, Family: family, Workload: record.UDPStream, Options: record.Options{MessageSize: 1300}},
			func(t *testing.T, n *network.Network) {
				for _, e := range slices.Concat(n.Servers, n.Clients) {
					iferr.Fatal(t, netns.SetSysctl(e.Facts().NetNS, "net/ipv4/ip_no_pmtu_disc", "1"))
				}
				for _, h := range n.Hosts {
					setMTU(t, h, 1320, "eth0")
				}
			})
		got := said(tr, record.FoundFragmentation)
		for _, want := range []string{"h2 sent packets in ", " fragments", "the containers' MTU of 1450", "set the containers' MTU to 1270"} {
			if !strings.Contains(got, want) {
				t.Errorf("IPv%d: %s, %s: warned of %q, which does not say %q; %+v", family, tr.Status, tr.Reason, got, want, tr.Warnings)
			}
		}
		if tr.Counters["h2/IpFragCreates"] == 0 || tr.Counters["h1/IpReasmReqds"] == 0 {
			t.Errorf("IPv%d: what hosts counted is not in the record", family)
		}
	}
}

// Segments that a device will split (offload) are not too large for it, and VXLAN reports to the
// sender which packets do not fit.
func TestContainersWhoseMTUHasNoRoomForTheTunnel(t *testing.T) {
	tr := carried(t, kernel.VXLAN(), record.Cell{Hosts: 2, Family: 4, Workload: record.TCPStream}, wide)
	want := "h2c1's eth0 has an MTU of 1500, but TCP found that its path carries only 1450: set the containers' MTU to 1450"
	if got := said(tr, record.FoundMTU); tr.Status != record.OK || got != want {
		t.Errorf("%s, %s: warned of %q, want %q", tr.Status, tr.Reason, got, want)
	}
}

// Without offloads the same packets are too large for the tunnel's device, and a bridge reports that
// to nobody.
func TestBlackHoleOfABridge(t *testing.T) {
	for _, family := range []int{4, 6} {
		wantBlackHole(t, func() record.Trial {
			return measured(t, kernel.VXLAN(), record.Cell{Hosts: 2, Family: family, Workload: record.TCPStream, Offload: record.OffloadOff}, wide)
		}, "MTU black hole: nothing larger than 1450 bytes crosses from h2c1, whose MTU is 1500, to h1c1", "set the containers' MTU to 1450")
	}
}

// A black hole can also be on one host, and affect only one of its containers.
func TestBlackHoleOfAPort(t *testing.T) {
	wantBlackHole(t, func() record.Trial {
		return measured(t, kernel.BridgeWithoutNetfilter(), record.Cell{Hosts: 1, Family: 4, Workload: record.TCPStream, Offload: record.OffloadOff},
			func(t *testing.T, n *network.Network) { setMTU(t, n.Hosts[0], 1400, "veth0") })
	}, "MTU black hole: nothing larger than 1404 bytes crosses from h1c2, whose MTU is 1500, to h1c1", "set the containers' MTU to 1400")
}

// Only the way back is narrow.
func TestBlackHoleOfOneDirection(t *testing.T) {
	// A bridge lets frames pass that are longer by a VLAN tag.
	wantBlackHole(t, func() record.Trial {
		return measured(t, kernel.VXLAN(), record.Cell{Hosts: 2, Family: 4, Workload: record.TCPStream, Offload: record.OffloadOff, Options: record.Options{Reverse: true}},
			func(t *testing.T, n *network.Network) { setMTU(t, n.Hosts[0], 1321, "vxlan0") })
	}, "MTU black hole: nothing larger than 1325 bytes crosses from h1c1, whose MTU is 1450, to h2c1", "set the containers' MTU to 1321")
}

// wantBlackHole measures until the black hole is found: where an end gets no CPU for a tenth of a second, packets seem lost.
func wantBlackHole(t *testing.T, measure func() record.Trial, text, remedy string) {
	t.Helper()
	var tr record.Trial
	for range 5 {
		if tr = measure(); strings.HasPrefix(tr.Reason, text) && tr.Remedy == remedy {
			break
		}
		t.Logf("%s: %s", tr.Status, tr.Reason)
	}
	if tr.Status != record.Failed || !strings.HasPrefix(tr.Reason, text) || !strings.Contains(tr.Reason, " (seen as: ") || tr.Remedy != remedy {
		t.Errorf("%s with reason %q and remedy %q, want %q and %q", tr.Status, tr.Reason, tr.Remedy, text, remedy)
	}
	if got := said(tr, record.FoundBlackHole); !strings.HasPrefix(got, text) || !strings.HasSuffix(got, ": "+remedy) {
		t.Errorf("warned of %q; %+v", got, tr.Warnings)
	}
	if tr.Metrics != nil || len(tr.Counters) == 0 {
		t.Errorf("figures %v, %d counters", tr.Metrics, len(tr.Counters))
	}
}

// A sound network gets no findings.
func TestNothingIsFoundInASoundNetwork(t *testing.T) {
	for name, tech := range map[string]network.Driver{"vxlan": kernel.VXLAN(), "routed": kernel.Routed(), "loopback": kernel.Loopback()} {
		hosts := slices.Max(tech.Hosts)
		tr := carried(t, tech, record.Cell{Hosts: hosts, Family: 4, Workload: record.TCPStream}, nil)
		if tr.Status != record.OK {
			t.Fatalf("%s: %s: %s", name, tr.Status, tr.Reason)
		}
		for _, code := range []string{record.FoundBlackHole, record.FoundChecksums, record.FoundFragmentation, record.FoundMTU, record.FoundNested} {
			if text := said(tr, code); text != "" {
				t.Errorf("%s: %s", name, text)
			}
		}
		client := fmt.Sprintf("h%d", hosts)
		if tr.Endpoints[0].Host != client || tr.Endpoints[1].Host != "h1" || tr.CPU.Client.Host != client || tr.CPU.Server.Host != "h1" {
			t.Errorf("%s: endpoints are on %q and %q, clients on %q", name, tr.Endpoints[0].Host, tr.Endpoints[1].Host, tr.CPU.Client.Host)
		}
	}
}

// The CPU use of a network's daemon is recorded with its host.
func TestDaemonsAreToldWithTheirHosts(t *testing.T) {
	tr := carried(t, kernel.PublishedProxy(), record.Cell{Hosts: 1, Family: 4, Workload: record.TCPStream}, nil)
	if tr.Status != record.OK || len(tr.CPU.Daemons) != 1 {
		t.Fatalf("%s, %s: %+v", tr.Status, tr.Reason, tr.CPU)
	}
	if d := tr.CPU.Daemons[0]; d.Host != "h1" || d.Total() == 0 {
		t.Errorf("%+v", d)
	}
}

// A router that reports packets that are too large lets TCP find out the path's MTU.
func TestPathThatIsNarrowerThanItsEnds(t *testing.T) {
	tr := carried(t, kernel.Routed(), record.Cell{Hosts: 2, Family: 4, Workload: record.TCPStream},
		func(t *testing.T, n *network.Network) {
			for _, h := range n.Hosts {
				setMTU(t, h, 1400, "eth0")
			}
		})
	want := "h2c1's eth0 has an MTU of 1500, but TCP found that its path carries only 1400: set the containers' MTU to 1400"
	if got := said(tr, record.FoundMTU); tr.Status != record.OK || got != want {
		t.Errorf("%s, %s: warned of %q, want %q", tr.Status, tr.Reason, got, want)
	}
}
