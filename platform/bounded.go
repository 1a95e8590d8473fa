package platform

// Bounded is a platform of which only so many networks can stand at once: those of one engine are
// on the same hosts, and would want the same ports and addresses.
type Bounded interface {
	Platform
	AtOnce() int
}

// Stander is a platform of which something stands from one network to the next, since it is
// expensive to start: engines, and the swarm whose nodes they are. Nothing that carries payload
// does; where the user's own engine does, that is what is measured.
type Stander interface {
	Platform
	// Stood is what has stood so far, in words, each time that it was started.
	Stood() []string
}
