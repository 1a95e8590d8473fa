package cni_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/cni"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// twoFamilies returns the plugin "between" with IPv6 added. The commands in six may route it to the
// other host.
func twoFamilies(six string) string {
	return strings.NewReplacer(
		"	echo 1 >", "	ip addr add fd00:$host::1/64 dev br-t nodad\n"+six+"	echo 1 >",
		"ip addr add 10.$host.0.$at/16 dev eth0;", "ip addr add 10.$host.0.$at/16 dev eth0; ip addr add fd00:$host::$at/64 dev eth0 nodad;",
	).Replace(between)
}

// The two families may leave by different devices.
func TestWaysOfFamiliesDiffer(t *testing.T) {
	in := cni.Folders{script(t, "between", twoFamilies(`
	ip link add six type veth peer name other
	ip link set six up
	ip link set other up
	for there in 1 2; do [ $there = $host ] || ip -6 route add fd00:$there::/64 dev six; done
`))}
	n, err := cni.New(conflist(t, "1.0.0", "between"), in).Connect(t.Context(), networktest.Pair, lab.New())
	iferr.Fatal(t, err)
	defer n.Close(context.Background())
	for family, want := range map[network.Family]string{
		network.IPv4: "h2c1/eth0 h2/veth-h2c1 h2/br-t h2/eth0 h1/eth0 h1/br-t h1/veth-h1c1 h1c1/eth0",
		network.IPv6: "h2c1/eth0 h2/veth-h2c1 h2/br-t h2/six h2/eth0 h1/eth0 h1/six h1/br-t h1/veth-h1c1 h1c1/eth0",
	} {
		if got := path(n, family); got != want {
			t.Errorf("IPv%d: %s, want %s", family, got, want)
		}
	}
}

// A family without a way is not supported; the other one still is.
func TestFamilyWithoutWay(t *testing.T) {
	in := cni.Folders{script(t, "between", twoFamilies(""))}
	n, err := cni.New(conflist(t, "1.0.0", "between"), in).Connect(t.Context(), networktest.Pair, lab.New())
	iferr.Fatal(t, err)
	defer n.Close(context.Background())
	client, server := n.Clients[0], n.Servers[0]
	for _, ends := range [][2]platform.Endpoint{{client, server}, {server, client}} {
		if _, err := n.Addr(ends[0], ends[1], network.IPv4); err != nil {
			t.Error(err)
		}
		_, err := n.Addr(ends[0], ends[1], network.IPv6)
		var missing *platform.Unsupported
		if !errors.As(err, &missing) || missing.Remedy == "" || !strings.HasSuffix(err.Error(), "to reach h1c1 at fd00:1::2, h2 has no route there") {
			t.Errorf("from %s to %s: %v", ends[0].Name(), ends[1].Name(), err)
		}
	}
}
