package calico

import (
	"context"
	"sync"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
)

// onEach starts a daemon on all hosts at once, since each may be ready only when the
// others are. The first that fails ends the wait for these.
func onEach(ctx context.Context, hosts []*plumb.Host, start func(context.Context, *plumb.Host) (*daemon.Daemon, error)) ([]*daemon.Daemon, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := make([]*daemon.Daemon, len(hosts))
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for i, h := range hosts {
		wg.Go(func() {
			var err error
			if all[i], err = start(ctx, h); err != nil {
				once.Do(func() {
					failed = err
					cancel()
				})
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	return all, nil
}
