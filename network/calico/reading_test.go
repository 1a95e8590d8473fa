package calico

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/network"
)

func TestHopsShareAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reading
		times := 0
		get := func() uint64 {
			t.Helper()
			all, err := r.get(t.Context(), func(context.Context) (passed, error) {
				times++
				time.Sleep(2 * shelf) // also a slow reading is shared
				return passed{"cali-fw-cali1": network.Count{Packets: uint64(times)}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all["cali-fw-cali1"].Packets
		}
		for range 3 {
			if got := get(); got != 1 {
				t.Errorf("reading %d, want the first", got)
			}
		}
		time.Sleep(shelf)
		if got := get(); got != 2 {
			t.Errorf("reading %d, want the second: the first is old", got)
		}
	})
}

func TestReadingThatFailsIsNotKept(t *testing.T) {
	var r reading
	broken := errors.New("no such table")
	_, err := r.get(t.Context(), func(context.Context) (passed, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	all, err := r.get(t.Context(), func(context.Context) (passed, error) { return passed{"a": {}}, nil })
	if err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
