package plumb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
)

const lasts = 100 * time.Millisecond

func TestHopsShareAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r plumb.Reading[int]
		times := 0
		get := func() int {
			t.Helper()
			got, err := r.Get(t.Context(), lasts, func(context.Context) (int, error) {
				times++
				time.Sleep(2 * lasts) // a slow reading is shared, too
				return times, nil
			})
			iferr.Fatal(t, err)
			return got
		}
		for range 3 {
			if got := get(); got != 1 {
				t.Errorf("reading %d, want the first", got)
			}
		}
		time.Sleep(lasts)
		if got := get(); got != 2 {
			t.Errorf("reading %d, want the second: the first is old", got)
		}
	})
}

func TestReadingThatFailsIsNotKept(t *testing.T) {
	var r plumb.Reading[int]
	broken := errors.New("no such table")
	_, err := r.Get(t.Context(), lasts, func(context.Context) (int, error) { return 0, broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	got, err := r.Get(t.Context(), lasts, func(context.Context) (int, error) { return 1, nil })
	if err != nil || got != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestHopOfAnEndpointThatIsNotSeen(t *testing.T) {
	_, err := (&plumb.Node{Endpoint: place{}, Device: "eth0"}).Hop().Read(t.Context())
	if err == nil || err.Error() != "c: its devices cannot be read: its network namespace is not known" {
		t.Error(err)
	}
}
