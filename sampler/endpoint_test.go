package sampler_test

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/sampler"
)

var (
	own4, peer4 = netip.MustParsePrefix("198.19.0.1/24"), netip.MustParseAddr("198.19.0.2")
	own6, peer6 = netip.MustParsePrefix("2001:2:0:1::1/64"), netip.MustParseAddr("2001:2:0:1::2")
)

// joined makes two namespaces with a veth pair between them, and returns the path of the first.
func joined(t *testing.T) string {
	t.Helper()
	all, err := netns.New(t.Context(), 2, func() error { return nil })
	iferr.Fatal(t, err)
	t.Cleanup(func() {
		for _, n := range all {
			n.Close()
		}
	})
	err = nl.With(all[0].Path(), func(n *nl.NS) error {
		if err := n.AddPair("payload0", all[1].Path(), "other0", 0); err != nil {
			return err
		}
		if err := n.Up("lo", "payload0"); err != nil {
			return err
		}
		if err := n.Addr("payload0", own4); err != nil {
			return err
		}
		return n.Addr("payload0", own6)
	})
	iferr.Fatal(t, err)
	return all[0].Path()
}

func endpointIn(ns string, peer netip.Addr) (e record.Endpoint, err error) {
	err = netns.Do(ns, func() error {
		e, err = sampler.Endpoint(peer)
		return err
	})
	return e, err
}

func TestEndpointDescribesTheDeviceTowardThePeer(t *testing.T) {
	ns := joined(t)
	if _, err := endpointIn(ns, netip.MustParseAddr("198.18.5.5")); err == nil || !strings.Contains(err.Error(), "198.18.5.5") {
		t.Errorf("without a route the error is %v", err)
	}
	err := nl.With(ns, func(n *nl.NS) error {
		l, err := n.Link("payload0")
		if err != nil {
			return err
		}
		if err := n.LinkSetMTU(l, 1400); err != nil {
			return err
		}
		return n.QdiscAdd(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)},
			Rate:       1 << 20, Buffer: 1 << 16, Limit: 1 << 16,
		})
	})
	iferr.Fatal(t, err)
	for _, peer := range []netip.Addr{peer4, peer6} {
		e, err := endpointIn(ns, peer)
		iferr.Fatal(t, err)
		if e.Device != "payload0" || e.Driver != "veth" || e.MTU != 1400 || e.Qdisc != "tbf" {
			t.Errorf("toward %s: device %q, driver %q, MTU %d, qdisc %q; want payload0, veth, 1400, tbf",
				peer, e.Device, e.Driver, e.MTU, e.Qdisc)
		}
		for _, name := range []string{"tso", "gso", "gro", "tx-checksum", "rx-checksum", "sg"} {
			if _, ok := e.Offloads[name]; !ok {
				t.Errorf("nothing is said of %s: %v", name, e.Offloads)
			}
		}
		if fields := strings.Fields(e.Sysctls["net.ipv4.tcp_rmem"]); len(fields) != 3 {
			t.Errorf("tcp_rmem is %q, want three numbers", e.Sysctls["net.ipv4.tcp_rmem"])
		}
		if e.Sysctls["net.ipv4.tcp_congestion_control"] == "" {
			t.Errorf("no congestion control in %v", e.Sysctls)
		}
	}
}

// TestEndpointKnowsTheMTUOfItsRoute has a route that says less than its device, as CNI plugins with tunnels give to pods.
func TestEndpointKnowsTheMTUOfItsRoute(t *testing.T) {
	ns := joined(t)
	for peer, mtu := range map[netip.Addr]int{peer4: 1300, peer6: 1400} {
		iferr.Fatal(t, nl.With(ns, func(n *nl.NS) error {
			l, err := n.Link("payload0")
			if err != nil {
				return err
			}
			to := &net.IPNet{IP: peer.AsSlice(), Mask: net.CIDRMask(peer.BitLen(), peer.BitLen())}
			return n.RouteReplace(&netlink.Route{Dst: to, LinkIndex: l.Attrs().Index, MTU: mtu})
		}))
	}
	for peer, mtu := range map[netip.Addr]int{peer4: 1300, peer6: 1400, peer4.Next(): 0, peer6.Next(): 0} {
		e, err := endpointIn(ns, peer)
		iferr.Fatal(t, err)
		if want := cmp.Or(mtu, 1500); e.MTU != 1500 || e.RouteMTU != mtu || e.IPMTU() != want {
			t.Errorf("toward %s: the device's MTU is %d, the route's %d, and that of IP %d; want 1500, %d and %d", peer, e.MTU, e.RouteMTU, e.IPMTU(), mtu, want)
		}
	}
}

// TestEndpointKnowsWhatSlowsStreams has parameters that a machine can be tuned by, and its containers do not inherit.
func TestEndpointKnowsWhatSlowsStreams(t *testing.T) {
	ns := joined(t)
	for name, value := range map[string]string{"tcp_moderate_rcvbuf": "0", "tcp_notsent_lowat": "16384", "tcp_limit_output_bytes": "65536", "tcp_autocorking": "0", "tcp_ecn": "1"} {
		iferr.Fatal(t, netns.SetSysctl(ns, "net/ipv4/"+name, value))
		e, err := endpointIn(ns, peer4)
		if got := e.Sysctls["net.ipv4."+name]; err != nil || got != value {
			t.Errorf("%s is %q, %v, want %s", name, got, err, value)
		}
	}
}

func TestEndpointSeesLoopback(t *testing.T) {
	e, err := endpointIn(joined(t), own4.Addr())
	iferr.Fatal(t, err)
	if e.Device != "lo" || e.MTU != 65536 || e.Qdisc == "" {
		t.Errorf("to itself over %q, MTU %d, qdisc %q; want lo, 65536, a name", e.Device, e.MTU, e.Qdisc)
	}
}

func TestEndpointSeesOffloadsThatAreOff(t *testing.T) {
	ns := joined(t)
	on, err := endpointIn(ns, peer4)
	iferr.Fatal(t, err)
	if !on.Offloads["tso"] {
		t.Fatalf("a veth device begins without tso: %v", on.Offloads)
	}
	iferr.Fatal(t, netns.Do(ns, func() error { return turnOff("payload0", "tx-tcp-segmentation") }))
	off, err := endpointIn(ns, peer4)
	iferr.Fatal(t, err)
	var changed []string
	for name := range on.Offloads {
		if on.Offloads[name] != off.Offloads[name] {
			changed = append(changed, name)
		}
	}
	if !slices.Equal(changed, []string{"tso"}) {
		t.Errorf("after tso was turned off %v had changed", changed)
	}
}

func TestKeepUndoesACondition(t *testing.T) {
	ns := joined(t)
	before, err := endpointIn(ns, peer4)
	iferr.Fatal(t, err)
	restore, err := sampler.Keep(ns, peer4)
	iferr.Fatal(t, err)
	iferr.Fatal(t, netns.Do(ns, func() error {
		refused, err := sampler.Condition{Peer: peer4, NoOffloads: true, MaxMTU: 1300}.Set()
		if refused != "" {
			t.Errorf("%s stays on", refused)
		}
		_, larger := sampler.Condition{Peer: peer4, MaxMTU: 1400}.Set() // changes nothing
		return errors.Join(err, larger)
	}))
	changed, err := endpointIn(ns, peer4)
	if err != nil || changed.MTU != 1300 || changed.Offloads["tso"] {
		t.Errorf("%+v, %v", changed, err)
	}
	iferr.Fatal(t, restore())
	after, err := endpointIn(ns, peer4)
	if err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("%+v, %v, want %+v", after, err, before)
	}
}

func TestNarrow(t *testing.T) {
	ns := joined(t)
	before, err := endpointIn(ns, peer4)
	iferr.Fatal(t, err)
	for _, c := range []struct {
		name   string
		to     netip.Addr
		uplink string
		want   int
	}{
		{"a container", peer4, "up0", 1300},
		{"a container beyond the uplink", peer4, before.Device, before.MTU},
		{"a container that the host does not reach", netip.MustParseAddr("203.0.113.1"), "up0", before.MTU},
	} {
		restore, err := sampler.Narrow(ns, c.to, 1300, c.uplink)
		iferr.Fatal(t, err)
		if is, err := endpointIn(ns, peer4); err != nil || is.MTU != c.want {
			t.Errorf("%s: an MTU of %d, %v, want %d", c.name, is.MTU, err, c.want)
		}
		if changed := c.want != before.MTU; changed != (restore != nil) {
			t.Errorf("%s: there is something to restore: %v, want %v", c.name, !changed, changed)
		}
		if restore != nil {
			iferr.Fatal(t, restore())
		}
		if is, err := endpointIn(ns, peer4); err != nil || is.MTU != before.MTU {
			t.Errorf("%s: restored to %d, %v, want %d", c.name, is.MTU, err, before.MTU)
		}
	}
}

func TestEveryCounterOfThisKernelIsUnderstood(t *testing.T) {
	c, err := sampler.Counters("/proc")
	iferr.Fatal(t, err)
	for _, name := range []string{"TcpRetransSegs", "TcpExtTCPTimeouts", "lo.rx_bytes", "softnet.dropped", "IpExtInOctets"} {
		if _, ok := c[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

func turnOff(device, feature string) error {
	return nl.WithEthtool("", func(tool nl.Ethtool) error { return tool.Change(device, map[string]bool{feature: false}) })
}
