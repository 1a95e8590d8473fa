package nl_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

func TestBatchMakesChangesInOrder(t *testing.T) {
	ns := pair(t, 0)
	fill := func(b *nl.Batch) {
		b.AddAddr("eth0", prefix("198.19.0.2/24"))
		b.SetUp("eth0")
		b.AddGateway(addr("198.19.0.1")) // requires both changes before it
	}
	var good, bad nl.Batch
	bad.AddGateway(addr("198.19.0.1"))
	fill(&good)
	if err := bad.Do(t.Context(), ns[0]); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("a gateway before its network: %v, want %v", err, unix.ENETUNREACH)
	}
	iferr.Fatal(t, good.Do(t.Context(), ns[0]))
	if got := inventory(t, ns[0]); !strings.Contains(got, "route default via 198.19.0.1 dev eth0\n") {
		t.Errorf("no default route:\n%s", got)
	}
}

func TestBatchGoesOnAfterAFailureAndNamesIt(t *testing.T) {
	ns := namespaces(t, 1)[0]
	var b nl.Batch
	b.SetUp("lo")
	b.AddAddr("lo", prefix("198.19.0.1/32"))
	b.AddAddr("lo", prefix("198.19.0.1/32"))
	b.AddAddr("eth7", prefix("198.19.0.2/32"))
	b.AddGateway(addr("198.19.9.9"))
	b.AddAddr("lo", prefix("2001:2::1/128"))
	err := b.Do(t.Context(), ns)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	want := []string{
		"add address 198.19.0.1/32 to lo: file exists",
		"add address 198.19.0.2/32 to eth7: find device: no such device",
		"add default route via 198.19.9.9: network is unreachable",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("errors are\n%q, want\n%q", lines, want)
	}
	for _, is := range []error{unix.EEXIST, unix.ENODEV, unix.ENETUNREACH} {
		if !errors.Is(err, is) {
			t.Errorf("%v is not in the error", is)
		}
	}
	got := inventory(t, ns)
	if !strings.Contains(got, "lo (device) mtu 65536 ") || !strings.Contains(got, "198.19.0.1/32") || !strings.Contains(got, "2001:2::1/128") {
		t.Errorf("what could be done was not:\n%s", got)
	}
}

// TestBatchLongerThanAFlight has many more changes than are sent to the kernel in one call, with
// failures spread over them.
func TestBatchLongerThanAFlight(t *testing.T) {
	ns := namespaces(t, 1)[0]
	const n = 300
	address := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 19, byte(i >> 8), byte(i)}), 32)
	}
	var taken, all nl.Batch
	for i := 0; i < n; i += 50 {
		taken.AddAddr("lo", address(i))
	}
	for i := range n {
		all.AddAddr("lo", address(i))
	}
	iferr.Fatal(t, taken.Do(t.Context(), ns))
	err := all.Do(t.Context(), ns)
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != n/50 {
		t.Errorf("%d errors, want %d:\n%v", len(lines), n/50, err)
	}
	for i := 0; i < n; i += 50 {
		if want := fmt.Sprintf("add address %s to lo: file exists", address(i)); !slices.Contains(lines, want) {
			t.Errorf("no error says %q", want)
		}
	}
	in(t, ns, func(ns *nl.NS) error {
		devices, err := ns.Devices()
		if err != nil {
			return err
		}
		if got := len(devices[0].Addrs); got != n {
			t.Errorf("%d addresses, want %d", got, n)
		}
		return nil
	})
}

func TestBatchPairsWithPortsOfABridge(t *testing.T) {
	ns := namespaces(t, 2)
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	in(t, ns[0], func(n *nl.NS) error { return n.Add(bridge) })
	f, err := os.Open(ns[1])
	iferr.Fatal(t, err)
	defer f.Close()
	var b nl.Batch
	for i := range 100 {
		b.AddVeth(nl.Veth{Name: fmt.Sprintf("port%d", i), Master: bridge.Index, Peer: fmt.Sprintf("eth%d", i), PeerNS: int(f.Fd()), MTU: 1400})
	}
	b.AddVeth(nl.Veth{Name: "alone0", Peer: "alone1", PeerNS: int(f.Fd())})
	b.AddVeth(nl.Veth{Name: "port5", Peer: "again", PeerNS: int(f.Fd())})
	if err := b.Do(t.Context(), ns[0]); err == nil || err.Error() != "add veth port5: file exists" {
		t.Errorf("error is %v, want that port5 exists", err)
	}
	here, there := inventory(t, ns[0]), inventory(t, ns[1])
	for i := range 100 {
		if want := fmt.Sprintf("device port%d (veth) mtu 1400 on br0\n", i); !strings.Contains(here, want) {
			t.Errorf("here is no %q", want)
		}
		if want := fmt.Sprintf("device eth%d (veth) mtu 1400\n", i); !strings.Contains(there, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if want := "device alone0 (veth) mtu 1500\n"; !strings.Contains(here, want) {
		t.Errorf("here is no %q", want)
	}
	if strings.Contains(there, "again") {
		t.Error("the other end of a pair that could not be made is there")
	}
	in(t, ns[0], func(n *nl.NS) error {
		l, err := n.Link("port7")
		if err == nil && l.Attrs().RawFlags&unix.IFF_UP == 0 {
			t.Error("port7 is down")
		}
		return err
	})
	for i, device := range []string{"port7", "eth7"} {
		in(t, ns[i], func(n *nl.NS) error {
			l, err := n.Link(device)
			if err == nil && (l.Attrs().NumTxQueues != 1 || l.Attrs().NumRxQueues != 1) {
				t.Errorf("%s has %d queues to send and %d to receive, want one each", device, l.Attrs().NumTxQueues, l.Attrs().NumRxQueues)
			}
			return err
		})
	}
}

func TestBatchOfNothingAndBatchOfNowhere(t *testing.T) {
	var b nl.Batch
	if err := b.Do(t.Context(), "/no/such/namespace"); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
	b.SetUp("lo")
	if err := b.Do(t.Context(), "/no/such/namespace"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want %v", err, os.ErrNotExist)
	}
}
