package engine

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/swarm"

	"nettoll/internal/testutil/machine"
)

func TestDeviceOf(t *testing.T) {
	machine.Loopback(t)
	if d, err := deviceOf(netip.MustParseAddr("127.0.0.1")); d != "lo" || err != nil {
		t.Errorf("127.0.0.1 is on %q, %v", d, err)
	}
	if d, err := deviceOf(netip.MustParseAddr("198.18.9.9")); err == nil || !strings.Contains(err.Error(), "198.18.9.9") {
		t.Errorf("198.18.9.9 is on %q, %v; want an error that names it", d, err)
	}
}

func TestActive(t *testing.T) {
	for state, want := range map[swarm.LocalNodeState]string{
		swarm.LocalNodeStateActive:   "",
		swarm.LocalNodeStateInactive: "is not part of a swarm",
		"":                           "is not part of a swarm",
		swarm.LocalNodeStateLocked:   "locked",
		swarm.LocalNodeStatePending:  "its state is pending",
		swarm.LocalNodeStateError:    "certificate expired",
	} {
		i := swarm.Info{LocalNodeState: state}
		if state == swarm.LocalNodeStateError {
			i.Error = "certificate\nexpired"
		}
		err := active(i)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", state, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", state, err, want)
		}
	}
}
