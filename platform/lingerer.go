package platform

import "context"

// Lingerer is a platform whose hosts go on costing CPU time for a while after they were
// closed, since somebody else removes what was on them.
type Lingerer interface {
	// Gone waits until nothing is left of the hosts that were closed, for a bounded time.
	Gone(ctx context.Context) error
}
