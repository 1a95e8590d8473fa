package ssh

import (
	"testing"

	"nettoll/internal/plumb"
)

// TestMachinesThatTalk has clients on two of three machines. Nothing need arrive from one of these two on the other.
func TestMachinesThatTalk(t *testing.T) {
	n := &build{Network: &plumb.Network{Site: &plumb.Site{}}}
	for i := range 3 {
		n.Hosts = append(n.Hosts, &plumb.Host{Index: i})
	}
	n.Servers, n.Clients = []*plumb.Node{{Host: n.Hosts[0]}}, []*plumb.Node{{Host: n.Hosts[1]}, {Host: n.Hosts[2]}}
	for a := range 3 {
		for b := range 3 {
			if got, want := n.talk(a, b), a != b && (a == 0 || b == 0); got != want {
				t.Errorf("h%d and h%d talk: %v, want %v", a+1, b+1, got, want)
			}
		}
	}
}
