package nl_test

import (
	"errors"
	"net"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

func TestPacketsAreThoseOfInterfaces(t *testing.T) {
	ns := namespaces(t, 1)[0]
	err := netns.Do(ns, func() error {
		if err := nl.UpHere("lo"); err != nil {
			return err
		}
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		defer c.Close()
		for range 3 {
			if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
				return err
			}
		}
		return nil
	})
	iferr.Fatal(t, err)
	in(t, ns, func(n *nl.NS) error {
		lo, err := n.Interface("lo")
		if err != nil {
			return err
		}
		got, err := nl.Packets(ns)
		if lo.Packets != 6 || got[lo.Index] != 6 {
			t.Errorf("3 packets were sent and received: %d, and %d of Interface", got[lo.Index], lo.Packets)
		}
		return err
	})
}

func TestPortsOfABridge(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error {
		for _, name := range []string{"br0", "br1"} {
			if err := n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}); err != nil {
				return err
			}
		}
		for name, bridge := range map[string]string{"on": "br0", "off": "br0", "other": "br1"} {
			if err := errors.Join(n.AddPair(name, ns[1], name, 0), n.Master(name, bridge), n.Up(name)); err != nil {
				return err
			}
		}
		in(t, ns[1], func(there *nl.NS) error { return there.Up("on") })
		if err := n.Running(t.Context(), "on"); err != nil {
			return err
		}
		br0, err := n.Interface("br0")
		if err != nil {
			return err
		}
		indexes, waiting, err := n.Ports(br0.Index)
		if len(indexes) != 2 || len(waiting) != 1 || waiting[0] != "off" {
			t.Errorf("ports %v, of which %v wait for a carrier, want 2 and off", indexes, waiting)
		}
		return err
	})
}
