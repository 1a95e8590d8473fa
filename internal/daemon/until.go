package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nettoll/internal/emulated"
)

// interval is the pause between two calls.
const interval = 20 * time.Millisecond

// Until calls ready repeatedly until it returns nil, one of the daemons has ended, or patience is over,
// which is extended on emulated machines. In the last case it returns the last error of ready.
func Until(ctx context.Context, patience time.Duration, ready func(context.Context) error, needed ...*Daemon) error {
	asking, cancel := context.WithTimeout(ctx, emulated.Patience(patience))
	defer cancel()
	var last error
	for {
		for _, d := range needed {
			if err := d.Fault(); err != nil {
				return err
			}
		}
		err := ready(asking)
		if err == nil {
			return nil
		}
		// An error caused by the time limit is not an answer.
		if last == nil || asking.Err() == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		select {
		case <-asking.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) && last != nil {
				return fmt.Errorf("%w: %w", context.Cause(ctx), last)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return last
		case <-time.After(interval):
		}
	}
}
