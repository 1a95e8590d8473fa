package platformtest

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// The ranges reserved for benchmarking, RFC 2544 and RFC 5180.
var (
	range4 = netip.MustParsePrefix("198.18.0.0/15")
	range6 = netip.MustParsePrefix("2001:2::/48")
)

// uplinks checks the uplinks that hosts report.
func uplinks(t *testing.T, hosts platform.Hosts) {
	seen := map[netip.Addr]bool{}
	first := hosts.All()[0].Uplink()
	for _, h := range hosts.All() {
		u := h.Uplink()
		for _, a := range []netip.Addr{u.Addr4.Addr(), u.Addr6.Addr()} {
			if seen[a] {
				t.Errorf("%s: %s belongs to another host too", h.Name(), a)
			}
			seen[a] = true
		}
		if !range4.Contains(u.Addr4.Addr()) || !range6.Contains(u.Addr6.Addr()) {
			t.Errorf("%s: %s or %s is outside the ranges for benchmarking", h.Name(), u.Addr4, u.Addr6)
		}
		if u.Addr4.Masked() != first.Addr4.Masked() || u.Addr6.Masked() != first.Addr6.Masked() {
			t.Errorf("%s: %s or %s is on another segment than %s and %s", h.Name(), u.Addr4, u.Addr6, first.Addr4, first.Addr6)
		}
		if ns := h.Facts().NetNS; ns != "" {
			asItSays(t, h.Name(), ns, u)
		}
	}
}

// asItSays compares an uplink with the device.
func asItSays(t *testing.T, name, ns string, u platform.Uplink) {
	t.Helper()
	err := nl.With(ns, func(n *nl.NS) error {
		devices, err := n.Devices()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(devices, func(d nl.Device) bool { return d.Name == u.Device })
		if i < 0 {
			t.Errorf("%s has no %s: %v", name, u.Device, devices)
			return nil
		}
		if d := devices[i]; d.MTU != u.MTU || !slices.Contains(d.Addrs, u.Addr4.String()) || !slices.Contains(d.Addrs, u.Addr6.String()) {
			t.Errorf("%s: the uplink is %v, it says %+v", name, d, u)
		}
		return nil
	})
	iferr.Error(t, err)
}

// reach has each host talk to each, itself included, in both families, and checks that traffic between two hosts
// crosses the uplinks of both.
func reach(t *testing.T, hosts platform.Hosts) {
	all := hosts.All()
	for _, six := range []bool{false, true} {
		for i, client := range all {
			for k, server := range all {
				from, to := client.Facts().NetNS, server.Facts().NetNS
				if from == "" || to == "" {
					t.Skip("the hosts show no namespace to talk from")
				}
				before := uplinkBytes(t, all)
				payload := Exchange(t, from, to, server.Uplink().Addr(six).Addr())
				after := uplinkBytes(t, all)
				for _, h := range []int{i, k} {
					if crossed := after[h] - before[h]; i != k && crossed < payload {
						t.Errorf("%s to %s: %d bytes crossed the uplink of %s, the payload was %d",
							client.Name(), server.Uplink().Addr(six).Addr(), crossed, all[h].Name(), payload)
					}
				}
			}
		}
	}
}

// uplinkBytes returns the bytes that have crossed the uplink of each host.
func uplinkBytes(t *testing.T, all []platform.Host) []uint64 {
	t.Helper()
	bytes := make([]uint64, len(all))
	for i, h := range all {
		c, err := plumb.DeviceHop(h.Name(), h.Facts().NetNS, h.Uplink().Device).Read(t.Context())
		iferr.Error(t, err)
		bytes[i] = c.Bytes
	}
	return bytes
}

// containers checks that containers have names and namespaces of their own, with no device but lo, which is up.
func containers(t *testing.T, hosts platform.Hosts) {
	names, spaces := map[string]bool{}, map[string]bool{}
	add := func(e platform.Endpoint) {
		if e.Name() == "" || names[e.Name()] || strings.ContainsAny(e.Name(), "/ \n") {
			t.Errorf("name %q is empty, odd or there twice", e.Name())
		}
		if ns := namespace(t, e); spaces[ns] {
			t.Errorf("%s is in the namespace of another", e.Name())
		} else {
			spaces[ns] = true
		}
		names[e.Name()] = true
	}
	for _, h := range hosts.All() {
		add(h)
		for _, n := range []int{3, 0, 1} {
			all, err := h.Containers(t.Context(), n)
			iferr.Fatal(t, err)
			if len(all) != n {
				t.Errorf("%s: %d containers, want %d", h.Name(), len(all), n)
			}
			for _, e := range all {
				add(e)
				bare(t, e)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Containers(ctx, 1); err == nil {
			t.Errorf("%s: a container was made although the context was over", h.Name())
		}
	}
}

// bare checks that a container has no device but lo, which is up.
func bare(t *testing.T, e platform.Endpoint) {
	t.Helper()
	lines := strings.Split(output(t, e, "cat", "/proc/net/dev"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(strings.TrimSpace(lines[2]), "lo:") {
		t.Errorf("%s has more or less than lo: %q", e.Name(), lines)
	}
	ns := e.Facts().NetNS
	if ns == "" {
		return
	}
	inv, err := nltest.Inventory(ns)
	if want := "device lo (device) mtu 65536 127.0.0.1/8 ::1/128\n"; err != nil || inv != want {
		t.Errorf("%s has %v\n%swant\n%s", e.Name(), err, inv, want)
	}
	err = nl.With(ns, func(n *nl.NS) error {
		l, err := n.Link("lo")
		if err == nil && l.Attrs().RawFlags&unix.IFF_UP == 0 {
			t.Errorf("%s: lo is down", e.Name())
		}
		return err
	})
	iferr.Error(t, err)
}

// share checks that a container made in another's namespace is in that namespace.
func share(t *testing.T, p platform.Platform) {
	h := hosts(t, p, 1).All()[0]
	sharing := h.Facts().Share
	if sharing == nil {
		t.Skipf("%s shares no namespaces", p.Info().Name)
	}
	all, err := h.Containers(t.Context(), 2)
	iferr.Fatal(t, err)
	shared, err := sharing(t.Context(), all[0])
	iferr.Fatal(t, err)
	if a, b := namespace(t, all[0]), namespace(t, shared); a != b {
		t.Errorf("%s is in %s, what shares with it in %s", all[0].Name(), a, b)
	}
	if namespace(t, all[1]) == namespace(t, shared) {
		t.Errorf("%s shares its namespace too", all[1].Name())
	}
	if shared.Name() == all[0].Name() || shared.Name() == all[1].Name() {
		t.Errorf("two are called %s", shared.Name())
	}
}
