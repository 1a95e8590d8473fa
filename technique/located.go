package technique

// Located is an endpoint that knows which host it is on. The lab's containers are named
// after theirs, and need not be.
type Located interface {
	OnHost() string // its name
}

// Housed is a process of a Daemoner that knows which host it is on.
type Housed interface {
	Host() string // its name
}
