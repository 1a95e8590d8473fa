package lab_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// qdiscs lists the queueing disciplines of a host's uplink.
func qdiscs(t *testing.T, h platform.Host) (all []netlink.Qdisc) {
	t.Helper()
	err := nl.With(h.Facts().NetNS, func(n *nl.NS) error {
		l, err := n.Link(h.Uplink().Device)
		if err == nil {
			all, err = n.QdiscList(l)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUnderlayRateIsATokenBucketOnEveryUplink(t *testing.T) {
	for _, rate := range []uint64{10_000, 100_000_000, 10_000_000_000, 400_000_000_000} { // bit/s
		for _, n := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%d bit/s, %d hosts", rate, n), func(t *testing.T) {
				hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: n, Underlay: platform.Underlay{Rate: rate}})
				if err != nil {
					t.Fatal(err)
				}
				defer hosts.Close(t.Context())
				for _, h := range hosts.All() {
					var found []*netlink.Tbf
					for _, q := range qdiscs(t, h) {
						if tbf, ok := q.(*netlink.Tbf); ok {
							found = append(found, tbf)
						}
					}
					if len(found) != 1 || found[0].Parent != netlink.HANDLE_ROOT {
						t.Fatalf("%s has the token buckets %v, want one at the root", h.Name(), found)
					}
					q := found[0]
					if q.Rate*8 != rate {
						t.Errorf("%s may send %d bit/s, want %d", h.Name(), q.Rate*8, rate)
					}
					if q.Buffer == 0 || uint64(q.Limit) < 1500 {
						t.Errorf("%s has no room for a packet: buffer %d, limit %d", h.Name(), q.Buffer, q.Limit)
					}
				}
			})
		}
	}
}

func TestUnshapedUnderlayHasNoQueue(t *testing.T) {
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close(t.Context())
	for _, h := range hosts.All() {
		for _, q := range qdiscs(t, h) {
			if q.Type() != "noqueue" {
				t.Errorf("%s has %s", h.Name(), q.Type())
			}
		}
	}
}

// TestUnderlayDelay wants the delay where the kernel can have one, and to be told
// what is missing where it cannot.
func TestUnderlayDelay(t *testing.T) {
	shape := platform.Underlay{Rate: 1_000_000_000, Delay: 2 * time.Millisecond}
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2, Underlay: shape})
	if err != nil {
		if platformtest.KernelHas(t, "CONFIG_NET_SCH_NETEM") {
			t.Fatalf("the kernel has netem: %v", err)
		}
		var missing *platform.Unsupported
		if !errors.Is(err, platform.ErrUnsupported) || !errors.As(err, &missing) {
			t.Fatalf("error %v does not say that something is missing", err)
		}
		if missing.Option != "CONFIG_NET_SCH_NETEM" || !strings.Contains(missing.Remedy, "sch_netem") {
			t.Errorf("option %q, remedy %q", missing.Option, missing.Remedy)
		}
		if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "lab: underlay: h1: ") {
			t.Errorf("error is %q, want one line that names the host", err)
		}
		return
	}
	defer hosts.Close(t.Context())
	for _, h := range hosts.All() {
		kinds := map[string]netlink.Qdisc{}
		for _, q := range qdiscs(t, h) {
			kinds[q.Type()] = q
		}
		delay, ok := kinds["netem"].(*netlink.Netem)
		if !ok || delay.Parent != netlink.HANDLE_ROOT {
			t.Fatalf("%s has %v, want netem at the root", h.Name(), kinds)
		}
		rate, ok := kinds["tbf"].(*netlink.Tbf)
		if !ok || rate.Parent != netlink.MakeHandle(1, 1) || rate.Rate*8 != shape.Rate {
			t.Errorf("%s has %v, want a token bucket of %d bit/s below netem", h.Name(), kinds, shape.Rate)
		}
	}
}
