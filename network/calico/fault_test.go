package calico_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/calico"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func named(t *testing.T, name string) network.Driver {
	t.Helper()
	all := calico.All(nil)
	i := slices.IndexFunc(all, func(d network.Driver) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("no network %s", name)
	}
	return all[i]
}

func TestMTUTooSmall(t *testing.T) {
	tech := named(t, "calico-vxlan")
	platformtest.Require(t, "calico-felix", tech.Probe(t.Context(), lab.New()))
	networktest.TooNarrow(t, tech, 1300, "1350 or more: containers would have 1230,")
}

// built builds Calico on two hosts and checks that it has no fault. It returns the second host, and
// a function that returns the current fault.
func built(t *testing.T, name string) (second platform.Host, fault func() error) {
	t.Helper()
	n := networktest.Build(t, named(t, name), networktest.Pair)
	fault = func() error { return n.Broken(t.Context()) }
	iferr.Error(t, fault())
	return n.Hosts[1], fault
}

// TestLostTunnel has one host lose its tunnel, while felix keeps running.
func TestLostTunnel(t *testing.T) {
	second, fault := built(t, "calico-vxlan")
	var err error
	for tries := 0; err == nil && tries < 5; tries++ { // felix makes it again some seconds later, which may be too early on a busy machine
		iferr.Fatal(t, nl.With(second.Facts().NetNS, func(n *nl.NS) error { return n.Remove("vxlan.calico") }))
		err = fault()
	}
	if err == nil || !strings.HasPrefix(err.Error(), "calico on h2 has lost another host: no route to 198.19.0.0/20 of h1 over vxlan.calico") {
		t.Error(err)
	}
}

// TestLostPolicies has one host lose all rules, while felix keeps running.
func TestLostPolicies(t *testing.T) {
	second, fault := built(t, "calico-bgp-policy")
	var err error
	for tries := 0; err == nil && tries < 5; tries++ { // likewise
		iferr.Fatal(t, nsexec.Run(t.Context(), second, platform.Command{Path: "ip6tables-nft", Args: []string{"-F"}, Stdout: io.Discard}))
		err = fault()
	}
	var wrong *network.WrongPath
	if !errors.As(err, &wrong) || wrong.Finding != "felix on h2 has written 0 of 10 policies (cali-pi-…)" {
		t.Error(err)
	}
}

// TestNewConnectionsMeetOutgoingNAT checks that hosts have the rule that Calico's own manifests have for IPv4 alone: it costs every
// new connection something, although it translates only what leaves the pools.
func TestNewConnectionsMeetOutgoingNAT(t *testing.T) {
	host, _ := built(t, "calico-bgp")
	translates := func(program string) error {
		var rules strings.Builder
		err := nsexec.Run(t.Context(), host, platform.Command{Path: program, Args: []string{"-t", "nat"}, Stdout: &rules})
		if err == nil && !strings.Contains(rules.String(), "-j MASQUERADE") {
			err = fmt.Errorf("%s: nothing translates what leaves the pools:\n%s", program, rules.String())
		}
		return err
	}
	// Felix may write these rules after those that the network waits for.
	iferr.Fatal(t, await.Until(t.Context(), 10*time.Second, 100*time.Millisecond, func(context.Context) (missing, err error) {
		return translates("iptables-nft-save"), nil
	}))
	if translates("ip6tables-nft-save") == nil {
		t.Error("IPv6 is translated, too")
	}
}
