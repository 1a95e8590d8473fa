package daemon

import (
	"context"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/emulated"
	"nettoll/record"
)

// interval is the pause between two calls.
const interval = 20 * time.Millisecond

// Until is await.Until for what depends on daemons: it also ends when one of them has ended. Any error of ready is taken
// as what is missing, and patience is extended on emulated machines.
func Until(ctx context.Context, patience time.Duration, ready func(context.Context) error, needed ...*Daemon) error {
	return await.Until(ctx, emulated.Patience(patience), interval, func(ctx context.Context) (missing, err error) {
		if err := record.Try(needed, (*Daemon).Fault); err != nil {
			return nil, err
		}
		return ready(ctx), nil
	})
}
