package network

// WrongPath is the error of a network that was built and leads elsewhere than it
// claims: its trials are invalid, and not failures of the machine.
type WrongPath struct {
	Finding string // what is wrong, in words
}

func (w *WrongPath) Error() string { return "wrong path: " + w.Finding }
