package nl_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
)

func TestGatewayBehindALinkRoute(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		if err := n.Up("eth0"); err != nil {
			return err
		}
		gateway := prefix("169.254.1.1/32")
		if err := n.Route(nl.Default(false), gateway.Addr(), "eth0"); err == nil {
			t.Error("a gateway that is nowhere is one")
		}
		if err := n.LinkRoute(gateway, "eth0"); err != nil {
			return err
		}
		return n.Route(nl.Default(false), gateway.Addr(), "eth0")
	})
}

// TestWayFromLo has the address of a host on lo, as where it announces it by BGP: packets are sent from there by the device of the route.
func TestWayFromLo(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		err := errors.Join(n.Up("lo"), n.Addr("lo", prefix("10.9.9.1/32")), n.Up("eth0"))
		if err != nil {
			return err
		}
		eth0, err := n.LinkByName("eth0")
		if err != nil {
			return err
		}
		_, to, _ := net.ParseCIDR("10.9.9.2/32")
		if err := n.RouteAdd(&netlink.Route{Dst: to, LinkIndex: eth0.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: net.ParseIP("10.9.9.1")}); err != nil {
			return err
		}
		way, err := n.Way(netip.MustParseAddr("10.9.9.2"))
		if err != nil || way.Device != "eth0" || way.At != prefix("10.9.9.1/32") || way.MTU != eth0.Attrs().MTU {
			t.Errorf("%+v, %v", way, err)
		}
		if all, err := n.Addresses(); err != nil || len(all) > 0 {
			t.Errorf("addresses of devices that lead elsewhere: %+v, %v", all, err)
		}
		return nil
	})
}

func TestRouteDevices(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		if err := n.Up("eth0"); err != nil {
			return err
		}
		for _, dst := range []string{"198.19.0.0/20", "2001:2:0:1::/64"} {
			p := prefix(dst)
			want := func(device string) {
				t.Helper()
				if got, err := n.RouteDevices(); err != nil || got[p] != device {
					t.Errorf("%s is not routed over %q: %v, %v", p, device, got, err)
				}
			}
			want("")
			hole := &netlink.Route{Type: unix.RTN_BLACKHOLE}
			_, hole.Dst, _ = net.ParseCIDR(dst)
			if err := n.RouteAdd(hole); err != nil {
				return err
			}
			want("")
			if err := n.Unroute(p); err != nil {
				return err
			}
			if err := n.LinkRoute(p, "eth0"); err != nil {
				return err
			}
			want("eth0")
			for range 2 { // the second time must do no harm
				if err := n.UnlinkRoute(p); err != nil {
					return err
				}
				want("")
			}
		}
		return nil
	})
}

// TestRouteTableTellsRoutesApart has routes to one destination, by metric and by family, and says over which device each leads, also if
// another one has its name later.
func TestRouteTableTellsRoutesApart(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		if err := n.Up("eth0"); err != nil {
			return err
		}
		l, err := n.Link("eth0")
		if err != nil {
			return err
		}
		_, dst, _ := net.ParseCIDR("198.19.0.0/24")
		for _, metric := range []int{5, 7} {
			if err := n.RouteAdd(&netlink.Route{Dst: dst, LinkIndex: l.Attrs().Index, Priority: metric}); err != nil {
				return err
			}
		}
		if err := n.Lead("eth0", nl.Default(false), nl.Default(true)); err != nil {
			return err
		}
		all, err := n.RouteTable()
		for _, to := range []string{"198.19.0.0/24 metric 5", "198.19.0.0/24 metric 7", "default", "default (IPv6) metric 1024"} {
			if got, want := all[to], fmt.Sprintf("dev eth0 (%d)", l.Attrs().Index); got != want {
				t.Errorf("%s leads %q, want %q: %v", to, got, want, all)
			}
		}
		return err
	})
}
