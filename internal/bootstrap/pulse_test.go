package bootstrap

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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

// TestSilenceIsLookedAtTwice checks that what is read when the time is just over, as after a pause of the machine, counts.
func TestSilenceIsLookedAtTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l listener
		l.note()
		var ended atomic.Bool
		go l.watch(t.Context(), Silence, func() { ended.Store(true) })
		time.Sleep(Silence + Silence/60)
		l.note()
		if time.Sleep(Silence / 2); ended.Load() {
			t.Error("it ended though something was heard")
		}
		if time.Sleep(Silence); !ended.Load() {
			t.Error("it did not end when nothing was heard")
		}
	})
}
