package bootstrap

import "testing"

// TestPulse holds a pulse twice: of three agents each gets every third beat until both have let go.
func TestPulse(t *testing.T) {
	var p Pulse
	agents := make([]int, 3)
	expect := func(when string, want ...bool) {
		t.Helper()
		for i, due := range want {
			for a := range agents {
				if got := p.due(&agents[a]); got != due {
					t.Errorf("%s: beat %d of agent %d is sent: %v", when, i+1, a+1, got)
				}
			}
		}
	}
	expect("free", true, true)
	one, other := p.Hold(), p.Hold()
	expect("held", false, false, true, false, false, true, false)
	one()
	one()
	expect("still held", false, true, false)
	other()
	expect("free again", true, true)
}
