package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nettoll/internal/emulated"
)

// interval is between two questions.
const interval = 20 * time.Millisecond

// Until asks again and again, until the answer is nil, one of the daemons has ended, or
// patience is over, of which an emulated machine gets more. Then its error is the last
// answer.
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
		// What was not heard because the time is over is no answer.
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
