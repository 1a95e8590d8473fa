package engine

import (
	"testing"
	"time"
)

// TestTimeThatIsReadLate reads the CPU time of a window that is over. What this process uses just then says nothing about the window,
// and is not taken for its share of that.
func TestTimeThatIsReadLate(t *testing.T) {
	quit := make(chan struct{})
	for range 20 {
		now := nanotime()
		if used := cpuBetween(now-int64(2*time.Second), now-int64(time.Second), quit); used.User+used.System > 0.5 {
			t.Fatalf("%v CPU seconds were used within less than that", used)
		}
	}
}
