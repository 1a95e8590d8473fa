package plumb_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/internal/testutil"
	"nettoll/network"
	"nettoll/platform/lab"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// namespacesOpen counts the descriptors of network namespaces.
func namespacesOpen(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, "net:") {
			n++
		}
	}
	return n
}

// TestFirewallHoldsNoNamespaceOfAClosedSite: a namespace that something holds open
// stays, with all that is in it.
func TestFirewallHoldsNoNamespaceOfAClosedSite(t *testing.T) {
	before := namespacesOpen(t)
	for _, committed := range []bool{true, false} {
		s, err := plumb.Begin(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, lab.New())
		if err != nil {
			t.Fatal(err)
		}
		br, err := s.AddBridge(s.Hosts[0], "br0", 0, true)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := s.AddDockerRules(br)
		if err == nil && committed {
			err = rules.Commit(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := namespacesOpen(t); got != before {
			t.Errorf("rules in force: %v: %d namespaces are open after Close, %d before", committed, got, before)
		}
	}
}
