package atonce_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/internal/atonce"
)

var errFailed = errors.New("failed")

func TestEachReturnsErrorsInOrder(t *testing.T) {
	for _, limit := range []int{-1, 1, 2} {
		errs := atonce.Each(limit, []bool{false, true, false}, func(_ int, fails bool) error {
			if fails {
				return errFailed
			}
			return nil
		})
		if !slices.Equal(errs, []error{nil, errFailed, nil}) {
			t.Errorf("limit %d: %v", limit, errs)
		}
	}
}

func TestAllEndsTheOthers(t *testing.T) {
	err := atonce.All(t.Context(), -1, []bool{false, true, false}, func(ctx context.Context, _ int, fails bool) error {
		if fails {
			return errFailed
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, errFailed) {
		t.Error(err)
	}
}

// TestLimit counts how many values are worked on at once, by a clock that stands still while they are.
func TestLimit(t *testing.T) {
	for limit, want := range map[int]int32{1: 1, 3: 3, -1: 8} {
		for name, each := range map[string]func(do func()){
			"Each": func(do func()) { atonce.Each(limit, make([]int, 8), func(int, int) error { do(); return nil }) },
			"All": func(do func()) {
				_ = atonce.All(context.Background(), limit, make([]int, 8), func(context.Context, int, int) error { do(); return nil })
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int32
				each(func() {
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					time.Sleep(time.Second)
					now.Add(-1)
				})
				if most.Load() != want {
					t.Errorf("%s with the limit %d: %d at once", name, limit, most.Load())
				}
			})
		}
	}
}
