package plumb

import (
	"context"
	"sync"

	"nettoll/internal/daemon"
)

// Start starts a daemon on all hosts at once, since each may be ready only when the
// others are. The first that fails ends the wait for these. The daemons are in the order
// of hosts, nil where one was not ready.
func (s *Site) Start(ctx context.Context, start func(context.Context, *Host) (*daemon.Daemon, error)) ([]*daemon.Daemon, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := make([]*daemon.Daemon, len(s.Hosts))
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	for i, h := range s.Hosts {
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
	return all, failed
}
