// Package atonce does something with several values at the same time.
package atonce

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Each calls do for all values at once, at most limit at a time, or without a limit if it is -1. The errors are in the order of
// the values.
func Each[T any](limit int, all []T, do func(i int, one T) error) []error {
	errs := make([]error, len(all))
	var doing errgroup.Group
	doing.SetLimit(limit)
	for i, one := range all {
		doing.Go(func() error {
			errs[i] = do(i, one)
			return nil
		})
	}
	_ = doing.Wait()
	return errs
}

// All is like Each, and returns the error of the first that fails, which ends the context of the others.
func All[T any](ctx context.Context, limit int, all []T, do func(ctx context.Context, i int, one T) error) error {
	doing, within := errgroup.WithContext(ctx)
	doing.SetLimit(limit)
	for i, one := range all {
		doing.Go(func() error { return do(within, i, one) })
	}
	return doing.Wait()
}
