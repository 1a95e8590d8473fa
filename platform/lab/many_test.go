package lab_test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

func site(t *testing.T, topo network.Topology) *plumb.Site {
	t.Helper()
	s, err := plumb.Begin(t.Context(), topo, lab.New())
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, s.Close(context.Background())) })
	return s
}

// bridged returns a site whose containers are on a bridge of its host.
func bridged(t *testing.T, topo network.Topology) (*plumb.Site, *plumb.Host) {
	t.Helper()
	s := site(t, topo)
	h := s.Hosts[0]
	iferr.Fatal(t, s.Bridge(t.Context(), h, "br0", 0, plumb.Attachment{Gateway: true}))
	iferr.Fatal(t, s.Settle(t.Context()))
	return s, h
}

func TestThousandContainersOnOneBridge(t *testing.T) {
	_, h := bridged(t, network.Topology{Hosts: 1, Servers: 1, Clients: 999})
	// Each container has reported a few multicast groups to the bridge, but not to all other containers.
	if said, most := packets(t, h), uint64(len(h.Nodes)*100); said > most {
		t.Errorf("%d packets have crossed the devices of %d containers that were not used yet, want at most %d", said, len(h.Nodes), most)
	}
	names, addrs := map[string]bool{}, map[netip.Addr]bool{}
	for _, n := range h.Nodes {
		names[n.Name()], addrs[n.Addr4], addrs[n.Addr6] = true, true, true
	}
	if len(names) != 1000 || len(addrs) != 2000 {
		t.Errorf("%d names and %d addresses of 1000 containers", len(names), len(addrs))
	}
	first, last := h.Nodes[0], h.Nodes[999]
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		platformtest.Exchange(t, first.NS, last.NS, last.Addr(f))
		platformtest.Exchange(t, last.NS, h.NS, plumb.Gateway(0, f == network.IPv6))
	}
}

// packets returns how many packets have crossed all devices of a host.
func packets(t *testing.T, h *plumb.Host) (sum uint64) {
	t.Helper()
	err := nl.With(h.NS, func(n *nl.NS) error {
		all, err := n.Interfaces()
		for _, d := range all {
			sum += d.Packets
		}
		return err
	})
	iferr.Fatal(t, err)
	return sum
}

// TestSilentNeighboursAreContainersLikeOthers checks that neighbours stay silent, and have everything that
// containers with traffic have.
func TestSilentNeighboursAreContainersLikeOthers(t *testing.T) {
	platformtest.Require(t, "ping", findPing())
	s, _ := bridged(t, network.Topology{Hosts: 1, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: 400, Rules: 100}})
	for _, k := range rand.Perm(len(s.Neighbours))[:50] {
		n := s.Neighbours[k]
		for _, f := range []network.Family{network.IPv4, network.IPv6} {
			p, err := s.Clients[0].Start(t.Context(), platform.Command{Path: "ping", Args: []string{"-c", "1", "-W", "20", n.Addr(f).String()}})
			iferr.Fatal(t, err)
			if err := p.Wait(); err != nil {
				t.Errorf("%s does not answer at %s: %v", n.Name(), n.Addr(f), err)
			}
		}
		err := nl.With(n.NS, func(in *nl.NS) error {
			l, err := in.Link(n.Device)
			if err == nil && l.Attrs().OperState != netlink.OperUp {
				t.Errorf("%s of %s is %s", n.Device, n.Name(), l.Attrs().OperState)
			}
			for _, to := range []netip.Addr{plumb.ExternalAddr(0, 0, false), plumb.ExternalAddr(0, 0, true)} {
				if l, err := in.Toward(to); err != nil || l.Attrs().Name != n.Device {
					t.Errorf("%s has no way out: %v", n.Name(), err)
				}
			}
			return err
		})
		iferr.Error(t, err)
	}
}

func findPing() error {
	_, err := exec.LookPath("ping")
	return err
}

func TestMoreContainersThanABridgeHasPorts(t *testing.T) {
	s := site(t, network.Topology{Hosts: 1, Servers: 1, Clients: plumb.MaxPorts})
	err := s.Bridge(t.Context(), s.Hosts[0], "br0", 0, plumb.Attachment{})
	if want := "bridge br0: 1024 containers talk, but it has only 1023 ports for them"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}

func TestNeighboursThatFindNoPortGetABridgeOfTheirOwn(t *testing.T) {
	s, _ := bridged(t, network.Topology{Hosts: 1, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: plumb.MaxPorts}})
	platformtest.Exchange(t, s.Clients[0].NS, s.Servers[0].NS, s.Servers[0].Addr4)
	want := "h1: bridge br0 has as many containers as a broadcast can reach; 125 silent ones are on br0x"
	if len(s.Notes) != 1 || s.Notes[0] != want {
		t.Errorf("notes are %q, want %q", s.Notes, want)
	}
}
