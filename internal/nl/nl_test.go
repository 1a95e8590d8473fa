package nl_test

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/inlab"
)

func TestMain(m *testing.M) { inlab.Main(m) }

// namespaces makes empty namespaces and returns their paths.
func namespaces(t *testing.T, n int) (paths []string) {
	t.Helper()
	all, err := netns.New(t.Context(), n, func() error { return nil })
	iferr.Fatal(t, err)
	for _, ns := range all {
		paths = append(paths, ns.Path())
		t.Cleanup(func() { ns.Close() })
	}
	return paths
}

// pair returns two namespaces, each with one end of a pair, called eth0. The end in the first is down.
func pair(t *testing.T, mtu int) (paths []string) {
	t.Helper()
	paths = namespaces(t, 2)
	in(t, paths[0], func(n *nl.NS) error { return n.AddPair("eth0", paths[1], "eth0", mtu) })
	in(t, paths[1], func(n *nl.NS) error { return n.Up("eth0") })
	return paths
}

// in configures a namespace.
func in(t *testing.T, path string, fn func(*nl.NS) error) {
	t.Helper()
	iferr.Fatal(t, nl.With(path, fn))
}

func inventory(t *testing.T, path string) string {
	t.Helper()
	s, err := nltest.Inventory(path)
	iferr.Fatal(t, err)
	return s
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }

func TestPairHasOneEndInEachNamespace(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("here", ns[1], "there", 0) })
	for i, want := range []string{
		"device here (veth) mtu 1500\ndevice lo (device) mtu 65536\n",
		"device lo (device) mtu 65536\ndevice there (veth) mtu 1500\n",
	} {
		if got := inventory(t, ns[i]); got != want {
			t.Errorf("namespace %d has\n%swant\n%s", i, got, want)
		}
	}
	err := nl.With(ns[0], func(n *nl.NS) error { return n.AddPair("here", ns[1], "other", 0) })
	if !errors.Is(err, unix.EEXIST) || !strings.HasPrefix(err.Error(), "add veth here: ") {
		t.Errorf("a second one of that name: %v", err)
	}
	err = nl.With(ns[0], func(n *nl.NS) error { return n.AddPair("more", "/no/such/namespace", "more", 0) })
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into no namespace: %v", err)
	}
}

func TestRemoveTwiceDoesNoHarm(t *testing.T) {
	ns := namespaces(t, 2)
	in(t, ns[0], func(n *nl.NS) error { return n.AddPair("here", ns[1], "there", 0) })
	for range 2 {
		in(t, ns[0], func(n *nl.NS) error { return n.Remove("here") })
	}
	in(t, ns[1], func(n *nl.NS) error { return n.Remove("there") }) // it disappeared with the other end
	for _, path := range ns {
		if got := inventory(t, path); got != "device lo (device) mtu 65536\n" {
			t.Errorf("left:\n%s", got)
		}
	}
	err := nl.With(ns[0], func(n *nl.NS) error { return n.Remove("lo") })
	if err == nil || !strings.HasPrefix(err.Error(), "remove device lo: ") {
		t.Errorf("lo was removed: %v", err)
	}
}

func TestErrorsNameOperationAndObject(t *testing.T) {
	in(t, namespaces(t, 1)[0], func(n *nl.NS) error {
		for want, err := range map[string]error{
			"find device eth7: ":                          n.Up("eth7"),
			"find device eth8: ":                          n.Addr("eth8", prefix("198.19.0.1/24")),
			"find device eth9: ":                          n.Master("lo", "eth9"),
			"add route to 198.19.0.0/20 via 198.18.0.1: ": n.Route(prefix("198.19.0.0/20"), addr("198.18.0.1"), "lo"),
			"add bridge a-name-of-more-than-15-letters: ": n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "a-name-of-more-than-15-letters"}}),
			"add lo to bridge lo: ":                       n.Master("lo", "lo"),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error is %v, want one that begins with %q", err, want)
			}
		}
		return nil
	})
	if _, err := nl.Open("/no/such/namespace"); err == nil || !strings.Contains(err.Error(), "/no/such/namespace") {
		t.Errorf("error is %v", err)
	}
}

func TestDeviceIsGivenToAnotherNamespace(t *testing.T) {
	paths := namespaces(t, 2)
	in(t, paths[0], func(n *nl.NS) error {
		if err := n.Add(&netlink.Veth{LinkAttrs: nl.Attrs("given", 0), PeerName: "kept"}); err != nil {
			return err
		}
		if err := n.Give("none", paths[1], "eth1"); !errors.As(err, &netlink.LinkNotFoundError{}) {
			t.Errorf("a device that is not there: %v", err)
		}
		return n.Give("given", paths[1], "eth0")
	})
	here, there := inventory(t, paths[0]), inventory(t, paths[1])
	if strings.Contains(here, "device given") || !strings.Contains(here, "device kept") || !strings.Contains(there, "device eth0 (veth)") {
		t.Errorf("here:\n%sthere:\n%s", here, there)
	}
}

func TestAddressIsTakenFromADevice(t *testing.T) {
	path := namespaces(t, 1)[0]
	before := inventory(t, path)
	in(t, path, func(n *nl.NS) error {
		for _, p := range []string{"198.18.0.1/16", "2001:2::1/64"} {
			// The second Unaddr finds none.
			if err := errors.Join(n.Addr("lo", prefix(p)), n.Unaddr("lo", prefix(p)), n.Unaddr("lo", prefix(p))); err != nil {
				return err
			}
		}
		return nil
	})
	if after := inventory(t, path); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}

func TestFamiliesOfGenericNetlink(t *testing.T) {
	path := namespaces(t, 1)[0]
	if err := nl.HasFamily(path, "nlctrl"); err != nil { // the family that resolves all others
		t.Error(err)
	}
	err := nl.HasFamily(path, "no-such")
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "generic netlink family no-such") {
		t.Error(err)
	}
}

func TestResetDevice(t *testing.T) {
	ns := pair(t, 1480)
	before := inventory(t, ns[0])
	in(t, ns[0], func(n *nl.NS) error {
		return errors.Join(n.Up("eth0"), n.Addr("eth0", prefix("198.19.0.1/32")), n.Addr("eth0", prefix("2001:2:0:1::1/128")), n.MTU("eth0", 8980))
	})
	if inventory(t, ns[0]) == before {
		t.Fatal("nothing changed")
	}
	in(t, ns[0], func(n *nl.NS) error { return n.Reset("eth0", 1480) })
	if after := inventory(t, ns[0]); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}

func TestForget(t *testing.T) {
	ns, a := pair(t, 0), addr("198.19.0.2")
	known := func() (all int) {
		in(t, ns[0], func(n *nl.NS) error {
			list, err := n.NeighList(0, netlink.FAMILY_V4)
			all = len(list)
			return err
		})
		return all
	}
	in(t, ns[0], func(n *nl.NS) error {
		l, err := n.Link("eth0")
		if err != nil {
			return err
		}
		if err := n.Up("eth0"); err != nil {
			return err
		}
		return n.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: a.AsSlice(), HardwareAddr: make([]byte, 6), State: netlink.NUD_STALE})
	})
	if known() != 1 {
		t.Fatal("there is no neighbour to forget")
	}
	for range 2 {
		in(t, ns[0], func(n *nl.NS) error { return n.Forget("eth0", a) })
		if n := known(); n != 0 {
			t.Errorf("%d neighbours are known", n)
		}
	}
}

func TestInventoryShowsAllThatIsConfigured(t *testing.T) {
	ns := pair(t, 0)
	in(t, ns[0], func(n *nl.NS) error {
		err := errors.Join(
			n.Add(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}),
			n.Master("eth0", "br0"), n.Up("lo", "eth0", "br0"),
		)
		for range 2 { // an address that exists already is not an error
			err = errors.Join(err, n.Addr("br0", prefix("198.19.0.1/20")), n.Addr("br0", prefix("2001:2:0:1::1/64")))
		}
		return errors.Join(err,
			n.Route(prefix("198.19.16.0/20"), addr("198.19.0.9"), "br0"),
			n.Route(nl.Default(true), addr("2001:2:0:1::9"), ""),
			n.Route(nl.Default(false), netip.Addr{}, "br0"),
		)
	})
	fw, err := nft.New(ns[0], "docker")
	iferr.Fatal(t, err)
	iferr.Fatal(t, fw.Commit())
	want := `device br0 (bridge) mtu 1500 198.19.0.1/20 2001:2:0:1::1/64
device eth0 (veth) mtu 1500 on br0
device lo (device) mtu 65536 127.0.0.1/8 ::1/128
route 198.19.0.0/20 dev br0
route 198.19.16.0/20 via 198.19.0.9 dev br0
route 2001:2:0:1::/64 dev br0
route default dev br0
route default via 2001:2:0:1::9 dev br0
table docker
`
	if got := inventory(t, ns[0]); got != want {
		t.Errorf("inventory is\n%swant\n%s", got, want)
	}

	// Everything that is removed is gone, and removing it twice does no harm.
	iferr.Fatal(t, fw.Remove())
	in(t, ns[0], func(n *nl.NS) error {
		for range 2 {
			if err := errors.Join(n.Unroute(prefix("198.19.16.0/20")), n.Remove("eth0"), n.Remove("br0")); err != nil {
				return err
			}
		}
		return n.Down("lo")
	})
	want = "device lo (device) mtu 65536 127.0.0.1/8\n" // lo keeps its address
	if got := inventory(t, ns[0]); got != want {
		t.Errorf("left:\n%swant\n%s", got, want)
	}
}
