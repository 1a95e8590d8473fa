package nl_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/testutil/iferr"
)

func TestTablesThatWereThereStay(t *testing.T) {
	ns := namespaces(t, 1)[0]
	add := func(name string) {
		t.Helper()
		fw, err := nft.New(ns, name)
		iferr.Fatal(t, err)
		defer fw.Close()
		fw.BaseChain("forward", nft.Forward, false).Rule(nft.In("lo"), nft.Drop())
		iferr.Fatal(t, fw.Commit())
	}
	add("old")
	before, err := nl.FirewallTables(ns)
	if err != nil || len(before) != 1 || before[0].Name != "old" {
		t.Fatalf("%v, %v", before, err)
	}
	add("new")
	if all, err := nl.FirewallTables(ns); err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for range 2 { // the second time must do no harm
		iferr.Fatal(t, nl.RemoveFirewallTables(ns, before))
		if all, err := nl.FirewallTables(ns); err != nil || !slices.Equal(all, before) {
			t.Errorf("%v, %v; want %v", all, err, before)
		}
	}
}

// TestForgetUDP checks that exactly the entries for the given ports and addresses are forgotten.
func TestForgetUDP(t *testing.T) {
	ns := namespaces(t, 1)[0]
	for _, a := range [][2]netip.Addr{
		{netip.MustParseAddr("198.19.0.1"), netip.MustParseAddr("198.19.0.2")},
		{netip.MustParseAddr("2001:2::1"), netip.MustParseAddr("2001:2::2")},
	} {
		family := netlink.InetFamily(unix.AF_INET)
		if a[0].Is6() {
			family = unix.AF_INET6
		}
		known := func() (ports []uint16) {
			t.Helper()
			err := netns.Do(ns, func() error {
				all, err := netlink.ConntrackTableList(netlink.ConntrackTable, family)
				for _, f := range all {
					ports = append(ports, f.Forward.DstPort)
				}
				return err
			})
			iferr.Fatal(t, err)
			slices.Sort(ports)
			return ports
		}
		err := netns.Do(ns, func() error {
			for _, f := range []struct {
				protocol uint8
				to       netip.Addr
				port     uint16
			}{
				{unix.IPPROTO_UDP, a[1], 20000}, {unix.IPPROTO_UDP, a[1], 20001}, {unix.IPPROTO_UDP, a[1], 20008},
				{unix.IPPROTO_UDP, a[1], 20009}, {unix.IPPROTO_TCP, a[1], 20004}, {unix.IPPROTO_UDP, a[0].Next().Next(), 20005},
			} {
				from, to := a[0].AsSlice(), f.to.AsSlice()
				flow := &netlink.ConntrackFlow{
					FamilyType: uint8(family), TimeOut: 100,
					Forward: netlink.IPTuple{SrcIP: from, DstIP: to, Protocol: f.protocol, SrcPort: 5000, DstPort: f.port},
					Reverse: netlink.IPTuple{SrcIP: to, DstIP: from, Protocol: f.protocol, SrcPort: f.port, DstPort: 5000},
				}
				if f.protocol == unix.IPPROTO_TCP {
					flow.ProtoInfo = &netlink.ProtoInfoTCP{State: 3} // established
				}
				if err := netlink.ConntrackCreate(netlink.ConntrackTable, family, flow); err != nil {
					return err
				}
			}
			return nil
		})
		iferr.Fatal(t, err)
		if got := len(known()); got != 6 {
			t.Fatalf("there are %d connections, want 6", got)
		}
		for range 2 {
			iferr.Fatal(t, nl.ForgetUDP(ns, []netip.Addr{a[1]}, 20001, 20008))
			if got, want := known(), []uint16{20000, 20004, 20005, 20009}; !slices.Equal(got, want) {
				t.Errorf("toward %v the ports %v are known, want %v", a[1], got, want)
			}
		}
	}
}
