package calico_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/process"
	"nettoll/network"
	"nettoll/network/calico"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMTUTooSmall(t *testing.T) {
	tech := calico.NewVXLAN(nil)
	platformtest.Require(t, "calico-felix", tech.Probe(t.Context(), lab.New()))
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1300}}
	_, err := tech.Connect(t.Context(), topo, lab.New())
	if err == nil || !strings.HasPrefix(err.Error(), "calico-vxlan on an underlay with the MTU 1300: not supported here (needs 1350 or more: containers would have 1230,") {
		t.Error(err)
	}
}

// built is Calico on two hosts, with nothing wrong. It gives the second of them, and asks
// what is.
func built(t *testing.T, tech network.Driver) (second platform.Host, fault func() error) {
	t.Helper()
	platformtest.Require(t, "calico-felix", tech.Probe(t.Context(), lab.New()))
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close(context.Background()) })
	fault = func() error { return n.Broken(t.Context()) }
	if err := fault(); err != nil {
		t.Error(err)
	}
	return n.Hosts[1], fault
}

// TestLostTunnel has one host lose its tunnel, while felix goes on.
func TestLostTunnel(t *testing.T) {
	second, fault := built(t, calico.NewVXLAN(nil))
	err := nl.With(second.Facts().NetNS, func(n *nl.NS) error { return n.Remove("vxlan.calico") })
	if err != nil {
		t.Fatal(err)
	}
	err = fault()
	if err == nil || !strings.HasPrefix(err.Error(), "calico on h2 has lost another host: no route to 198.19.0.0/20 of h1 over vxlan.calico") {
		t.Error(err)
	}
}

// TestLostPolicies has one host lose all rules, while felix goes on.
func TestLostPolicies(t *testing.T) {
	second, fault := built(t, calico.NewPolicy(nil))
	if err := process.Run(t.Context(), second, platform.Command{Path: "ip6tables-nft", Args: []string{"-F"}, Stdout: io.Discard}); err != nil {
		t.Fatal(err)
	}
	var wrong *network.WrongPath
	if err := fault(); !errors.As(err, &wrong) || wrong.Finding != "felix on h2 has written 0 of 10 policies (cali-pi-…)" {
		t.Error(err)
	}
}
