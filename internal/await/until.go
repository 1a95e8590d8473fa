// Package await waits for what happens outside of this process and does not announce itself.
package await

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Late is the error when something was not so in time. It reads like what was missing.
type Late struct{ Missing error }

func (l *Late) Error() string { return l.Missing.Error() }
func (l *Late) Unwrap() error { return l.Missing }

// Until asks until something is so: at once, and again whenever the time every has passed since an answer. ask returns
// what is missing, or nil if it is so; or an error that waiting does not mend, which Until returns at once.
//
// When the time within is over (0: it is not bounded), Until returns what was missing at last, as a Late. If ctx ends
// before, it returns the cause, and after a deadline also what was missing. The context of ask ends with the earlier of
// the two: an answer that only says so counts if there was no other.
func Until(ctx context.Context, within, every time.Duration, ask func(context.Context) (missing, err error)) error {
	asking := ctx
	if within > 0 {
		bounded, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		asking = bounded
	}
	var last error
	for {
		missing, err := ask(asking)
		over := asking.Err() != nil
		switch {
		case err != nil && !over:
			return err
		case err == nil && missing == nil:
			return nil
		case last == nil || !over || err == nil && !errors.Is(missing, context.DeadlineExceeded):
			last = cmp.Or(err, missing)
		}
		select {
		case <-asking.Done():
			switch {
			case ctx.Err() == nil:
				return &Late{last}
			case errors.Is(ctx.Err(), context.DeadlineExceeded):
				return fmt.Errorf("%w: %w", context.Cause(ctx), last)
			}
			return context.Cause(ctx)
		case <-time.After(every):
		}
	}
}

// Sleep waits for as long as it is told, or until ctx is done, and then returns the cause.
func Sleep(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
