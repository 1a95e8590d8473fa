package engine

import (
	"strings"
	"testing"

	"github.com/moby/moby/api/types/swarm"
)

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
