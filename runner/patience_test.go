package runner

import (
	"testing"
	"time"
)

// TestPatienceAfterWork checks that what took long to build may take long to come to rest.
func TestPatienceAfterWork(t *testing.T) {
	for work, want := range map[time.Duration]time.Duration{
		0: 500 * time.Millisecond, 5 * time.Second: 500 * time.Millisecond, time.Minute: 6 * time.Second, 10 * time.Minute: 30 * time.Second,
	} {
		if got := patienceAfter(work); got != want {
			t.Errorf("%v after %v, want %v", got, work, want)
		}
	}
}
