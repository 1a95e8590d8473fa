package plumb_test

import (
	"testing"

	"nettoll/internal/plumb"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/network"
	"nettoll/platform/lab"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestFirewallHoldsNoNamespaceOfAClosedSite checks that the firewall does not hold a namespace open,
// which would keep it, and everything in it, alive.
func TestFirewallHoldsNoNamespaceOfAClosedSite(t *testing.T) {
	before := machine.Descriptors(t, "net:")
	for _, committed := range []bool{true, false} {
		s, err := plumb.Begin(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, lab.New())
		iferr.Fatal(t, err)
		rules, err := s.AddDockerRules(s.Hosts[0], "br0")
		if err == nil && committed {
			err = rules.Commit(s)
		}
		iferr.Fatal(t, err)
		iferr.Error(t, s.Close(t.Context()))
		if got := machine.Descriptors(t, "net:"); got != before {
			t.Errorf("rules in force: %v: %d namespaces are open after Close, %d before", committed, got, before)
		}
	}
}
