package plumb_test

import (
	"testing"

	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

func TestMoreContainersThanAHostHasAddresses(t *testing.T) {
	h := &plumb.Host{Index: 2}
	s := &plumb.Site{Hosts: []*plumb.Host{h}}
	seen := map[string]bool{}
	for range plumb.MaxContainers + 6 {
		n, err := s.Adopt(h, place{})
		iferr.Fatal(t, err)
		for _, a := range []string{n.Addr4.String(), n.Addr6.String()} {
			if seen[a] {
				t.Fatalf("two containers have the address %s", a)
			}
			seen[a] = true
		}
	}
	if n := h.Nodes[plumb.MaxContainers]; n.Addr4.String() != "198.19.240.2" || n.Addr6.String() != "2001:2:0:10::2" {
		t.Errorf("the first for which there is no room has the addresses %s and %s", n.Addr4, n.Addr6)
	}
}

// place is a container of which only the name is used.
type place struct{ platform.Endpoint }

func (place) Name() string { return "c" }

func (place) OnHost() string        { return "h1" }
func (place) Facts() platform.Facts { return platform.Facts{NetNS: "/"} }
