package nl_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

func TestOwnWaitsForTheAddress(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		if err := errors.Join(n.Up("lo", "eth0"), n.Addr("eth0", prefix("198.19.0.1/24"))); err != nil { // so that .2 leaves over eth0
			return err
		}
		var other sync.WaitGroup
		other.Go(func() {
			time.Sleep(50 * time.Millisecond)
			err := nl.With(ns[0], func(n *nl.NS) error { return n.Addr("eth0", prefix("198.19.0.2/24")) })
			iferr.Error(t, err)
		})
		defer other.Wait()
		if err := n.Own(t.Context(), addr("198.19.0.2")); err != nil {
			return err
		}
		l, err := n.Toward(addr("198.19.0.2"))
		if err == nil && l.Attrs().Name != "lo" {
			t.Errorf("what is sent to it leaves over %s", l.Attrs().Name)
		}
		return err
	})
}

func TestTowardFindsTheDevice(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		if err := errors.Join(n.Up("lo", "eth0"), n.Addr("eth0", prefix("198.19.0.1/24"))); err != nil {
			return err
		}
		for to, want := range map[string]string{"198.19.0.7": "eth0", "198.19.0.1": "lo"} {
			l, err := n.Toward(addr(to))
			if err != nil {
				return err
			}
			if l.Attrs().Name != want {
				t.Errorf("to %s over %s, want %s", to, l.Attrs().Name, want)
			}
			if q, err := n.RootQdisc(l); err != nil || q == "" {
				t.Errorf("queueing discipline of %s: %q, %v", want, q, err)
			}
		}
		if _, err := n.Toward(addr("198.18.0.1")); !errors.Is(err, unix.ENETUNREACH) {
			t.Errorf("to nowhere: %v, want %v", err, unix.ENETUNREACH)
		}
		return nil
	})
}

func TestRunningWaitsForTheOtherEnd(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error {
		if err := errors.Join(n.AddPair("eth0", ns[1], "eth0", 0), n.Up("eth0")); err != nil {
			return err
		}
		if l, err := n.Link("eth0"); err != nil || l.Attrs().OperState == netlink.OperUp {
			t.Errorf("eth0 is up before its other end: %v", err)
		}
		var other sync.WaitGroup
		other.Go(func() {
			time.Sleep(50 * time.Millisecond)
			iferr.Error(t, nl.With(ns[1], func(n *nl.NS) error { return n.Up("eth0") }))
		})
		defer other.Wait()
		if err := n.Running(t.Context(), "eth0"); err != nil {
			return err
		}
		if l, err := n.Link("eth0"); err != nil || l.Attrs().OperState != netlink.OperUp {
			t.Errorf("eth0 is not up: %v", err)
		}
		if err := n.Running(t.Context(), "eth7"); err == nil || !strings.HasPrefix(err.Error(), "find device eth7: ") {
			t.Errorf("a device that is not there: %v", err)
		}
		return nil
	})
}

func TestAddressIsTheNamespacesOwnWhenItIsThere(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error {
		err := errors.Join(
			n.AddPair("eth0", ns[1], "eth0", 0),
			n.Addr("eth0", prefix("2001:2:0:1::1/64")), // the device is down
			n.Up("eth0"),
			n.Addr("eth0", prefix("2001:2:0:2::1/64")), // the device has no carrier
			n.Own(t.Context(), addr("2001:2:0:1::1"), addr("2001:2:0:2::1")),
		)
		if err != nil {
			return err
		}
		for _, a := range []string{"2001:2:0:1::1", "2001:2:0:2::1"} {
			l, err := n.Toward(addr(a))
			if err != nil {
				return err
			}
			if l.Attrs().Name != "lo" {
				t.Errorf("what is sent to %s leaves over %s", a, l.Attrs().Name)
			}
		}
		return nil
	})
}
