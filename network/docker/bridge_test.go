package docker_test

import (
	"net/netip"
	"strings"
	"testing"

	moby "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	dockerd "nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// TestUserBridgeWithoutItsAddresses builds a bridge on an engine where another network has its addresses, such as one that a
// run that was killed has left: it has IPv4 addresses that the engine chooses, and says why it has no IPv6. It also says that what
// crosses bridges there does not meet the engine's rules.
func TestUserBridgeWithoutItsAddresses(t *testing.T) {
	platformtest.Require(t, "dockerd", dockerd.Available())
	p := engines(t, platforms.Options{Lab: lab.New()})
	hosts, err := p.Engines(t.Context(), platform.HostRequest{Count: 1}, dockerd.Settings{})
	iferr.Fatal(t, err)
	_, err = hosts.Docker[0].Engine.Client.NetworkCreate(t.Context(), "theirs", client.NetworkCreateOptions{
		Driver: "bridge", IPAM: &moby.IPAM{Driver: "default", Config: []moby.IPAMConfig{{Subnet: netip.MustParsePrefix("198.19.250.0/24")}}},
	})
	iferr.Fatal(t, err)
	iferr.Fatal(t, netns.SetSysctl(hosts.Docker[0].NetNS(), netns.BridgeNetfilter[0], "0"))
	if err := hosts.Close(t.Context()); err != nil { // the network is built on these hosts
		t.Fatal(err)
	}
	n, err := byName(t, "user-bridge").Connect(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, p)
	iferr.Fatal(t, err)
	if _, err := n.Addr(n.Clients[0], n.Servers[0], network.IPv4); err != nil {
		t.Error(err)
	}
	if said := strings.Join(n.Remarks(network.IPv4), "; "); !strings.Contains(said, "since net.bridge.bridge-nf-call-iptables is 0") {
		t.Errorf("remarks: %s", said)
	}
	_, err = n.Addr(n.Clients[0], n.Servers[0], network.IPv6)
	missing(t, err, "another network of the engine has them", "nettoll clean")
	iferr.Error(t, n.Close(t.Context()))
}
