package platform

import "context"

// Engines is a platform whose hosts are kept from one network to the next, since they are expensive to start or are the
// user's: hosts with Docker engines (and the swarm that these form), nodes of clusters, and machines over ssh. Devices
// that carry payload are made anew for each network.
type Engines interface {
	Platform
	// AtOnce returns how many networks of so many containers can stand at once: those on the same hosts must not use
	// the same names, ports and addresses.
	AtOnce(containers int) int
	// Stood describes the engines, clusters or machines that were used so far, one text for each time that some were
	// started.
	Stood() []string
}

// Lingerer is a platform whose hosts take time to disappear after they are closed: the kernel removes the namespaces
// of a lab in the background. Other platforms do not implement it.
type Lingerer interface {
	// Gone waits, for a bounded time, until nothing is left of the hosts that were closed.
	Gone(ctx context.Context) error
}

// Quieter is a platform that sends packets of its own, such as heartbeats, over the network that is measured.
// Other platforms do not implement it.
type Quieter interface {
	// Quiet has it send none while something is measured, as far as it can, until end is called.
	Quiet() (end func())
}
