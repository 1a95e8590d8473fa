package calico

import (
	"context"
	"sync"
	"time"

	"nettoll/internal/plumb"
)

// shelf is how long hops share what was read of a host. Programs that read rules take tens of
// milliseconds, and there are two hops for each container.
const shelf = 100 * time.Millisecond

// table is a host's table of filters for one IP version.
type table struct {
	host *plumb.Host
	six  bool
}

// reading is what was last read of a table.
type reading struct {
	mu     sync.Mutex
	ended  time.Time
	passed passed
}

// readings are those of all tables of a site.
func readings(s *plumb.Site) map[table]*reading {
	all := map[table]*reading{}
	for _, h := range s.Hosts {
		for _, six := range []bool{false, true} {
			all[table{h, six}] = &reading{}
		}
	}
	return all
}

// get gives what was read a moment ago, or reads anew.
func (r *reading) get(ctx context.Context, read func(context.Context) (passed, error)) (passed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.passed != nil && time.Since(r.ended) < shelf {
		return r.passed, nil
	}
	all, err := read(ctx)
	if err != nil {
		return nil, err
	}
	r.passed, r.ended = all, time.Now()
	return all, nil
}
