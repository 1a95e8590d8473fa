package atonce_test

import (
	"context"
	"errors"
	"slices"
	"testing"

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
