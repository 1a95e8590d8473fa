package platform

import "context"

// Engines is a platform whose hosts run engines. Engines are expensive to start, and are kept from one network to
// the next, as is the swarm that they form; devices that carry payload are not.
type Engines interface {
	Platform
	// AtOnce returns how many networks of so many containers can stand at once: those of one engine are on the same
	// hosts, and must not use the same names, ports and addresses.
	AtOnce(containers int) int
	// Stood describes the engines that have run so far, one text for each time that some were started.
	Stood() []string
}

// Lingerer is a platform whose hosts take time to disappear after they are closed: the kernel removes the namespaces
// of a lab in the background. Nobody waits for other platforms.
type Lingerer interface {
	// Gone waits, for a bounded time, until nothing is left of the hosts that were closed.
	Gone(ctx context.Context) error
}

// Quieter is a platform that sends packets of its own, such as heartbeats, over the network that is measured.
// Others have nothing to be told.
type Quieter interface {
	// Quiet has it send none while something is measured, as far as it can, until end is called.
	Quiet() (end func())
}
