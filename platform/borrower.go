package platform

// Borrower is a host that may be the user's own machine. Nothing of a borrowed host is
// changed but by what the platform itself makes on it: no device, address, route,
// rule or kernel parameter.
type Borrower interface {
	Borrowed() bool
}

// Borrowed says whether a host is the user's own machine.
func Borrowed(h Host) bool {
	b, ok := h.(Borrower)
	return ok && b.Borrowed()
}
