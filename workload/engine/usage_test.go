package engine

import (
	"testing"
	"time"
)

// TestTimeThatIsReadLate reads the CPU time of a window that is over. What this process uses just then says nothing about the window,
// and is not taken for its share of that: other turns tell.
func TestTimeThatIsReadLate(t *testing.T) {
	quit := make(chan struct{})
	for range 20 {
		now := nanotime()
		if used, known := cpuBetween(now-int64(2*time.Second), now-int64(time.Second), quit); known || used.User+used.System > 0.5 {
			t.Fatalf("%v CPU seconds were used within less than that; known: %v", used, known)
		}
	}
	busy := make(chan struct{})
	defer close(busy)
	go func() {
		for {
			select {
			case <-busy:
				return
			default:
			}
		}
	}()
	long := int64(200 * time.Millisecond)
	for tries := 20; ; tries-- {
		now := nanotime()
		used := cpuOf([]turn{{opens: now - 3*long, closes: now - long}, {opens: now, closes: now + long}}, quit)
		late, seen := used[0].User+used[0].System, used[1].User+used[1].System
		if seen > 0 && near(late, 2*seen) {
			return
		}
		if tries == 0 { // on a busy machine, the second may be read late, too
			t.Fatalf("%v CPU seconds in a turn that was read late, %v in one half as long", late, seen)
		}
	}
}
