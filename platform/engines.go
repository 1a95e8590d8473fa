package platform

import "context"

// Engines is a platform whose hosts run engines. These are expensive to start, and stand from one
// network to the next, as does the swarm whose nodes they are; nothing that carries payload does.
type Engines interface {
	Platform
	// AtOnce is how many networks can stand at once: those of one engine are on the same hosts,
	// and would want the same ports and addresses.
	AtOnce() int
	// Stood is what has stood so far, in words, each time that it was started.
	Stood() []string
}

// Lingerer is a platform whose hosts are not gone at once when they are closed.
type Lingerer interface {
	// Gone waits until nothing is left of the hosts that were closed, for a bounded time.
	Gone(ctx context.Context) error
}
