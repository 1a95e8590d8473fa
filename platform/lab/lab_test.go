package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"

	"nettoll/internal/nl"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) { platformtest.Conform(t, lab.New()) }

// hostsOf returns hosts of a lab that are closed with the test.
func hostsOf(t *testing.T, req platform.HostRequest) []platform.Host {
	t.Helper()
	hosts, err := lab.New().Hosts(t.Context(), req)
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	return hosts.All()
}

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
	iferr.Fatal(t, err)
	return all
}

func TestUnderlayRateIsATokenBucketOnEveryUplink(t *testing.T) {
	for _, rate := range []uint64{10_000, 100_000_000, 10_000_000_000, 400_000_000_000} { // bit/s
		for _, n := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%d bit/s, %d hosts", rate, n), func(t *testing.T) {
				hosts := hostsOf(t, platform.HostRequest{Count: n, Underlay: platform.Underlay{Rate: rate}})
				for _, h := range hosts {
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
	hosts := hostsOf(t, platform.HostRequest{Count: 2})
	for _, h := range hosts {
		for _, q := range qdiscs(t, h) {
			if q.Type() != "noqueue" {
				t.Errorf("%s has %s", h.Name(), q.Type())
			}
		}
	}
}

// TestUnderlayDelay expects the delay if the kernel supports it, and otherwise an error that reports what is
// missing.
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

func TestHostsHaveRulesAndMTU(t *testing.T) {
	const rules = 1200 // more than fit in one message
	hosts := hostsOf(t, platform.HostRequest{Count: 2, Rules: rules, Underlay: platform.Underlay{MTU: 9000}})
	for _, h := range hosts {
		u := h.Uplink()
		err := nl.With(h.Facts().NetNS, func(n *nl.NS) error {
			l, err := n.Link(u.Device)
			if err == nil && (l.Attrs().MTU != 9000 || u.MTU != 9000) {
				t.Errorf("%s: MTU %d, said to be %d, want 9000", h.Name(), l.Attrs().MTU, u.MTU)
			}
			return err
		})
		iferr.Error(t, err)
		if n := countRules(t, h); n != 2*rules+4 {
			t.Errorf("%s: %d rules, want %d for each IP version and 4 that lead there", h.Name(), n, rules)
		}
	}
}

// countRules returns how many firewall rules a host has.
func countRules(t *testing.T, h platform.Host) (n int) {
	t.Helper()
	ns, err := os.Open(h.Facts().NetNS)
	iferr.Fatal(t, err)
	defer ns.Close()
	conn, err := nftables.New(nftables.WithNetNSFd(int(ns.Fd())))
	iferr.Fatal(t, err)
	chains, err := conn.ListChains()
	iferr.Fatal(t, err)
	for _, c := range chains {
		rules, err := conn.GetRules(c.Table, c)
		iferr.Fatal(t, err)
		n += len(rules)
	}
	return n
}
