package platform

// Surroundings is what the processes of an endpoint share with others than those of the
// run. Of a container, and of all in a lab, that is nothing: the zero value.
type Surroundings struct {
	// Outlive: a process there goes on when nettoll is killed, unless something of its own
	// ends it.
	Outlive bool
	// Open: its network is that of a machine of the user's. Whoever reaches the machine
	// reaches what listens there on all addresses.
	Open bool
}

// Surrounded is an endpoint that shares something.
type Surrounded interface {
	Surroundings() Surroundings
}

// Undertaker is a host in a lab.
type Undertaker interface {
	// Leaves has a control group removed when the lab has ended, in whatever way: the kernel
	// does not do that.
	Leaves(cgroup string) error
}

// Around is what an endpoint shares.
func Around(e Endpoint) Surroundings {
	if s, ok := As[Surrounded](e); ok {
		return s.Surroundings()
	}
	return Surroundings{}
}
