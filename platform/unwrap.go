package platform

// Wrapper is an endpoint that stands for another.
type Wrapper interface {
	Unwrap() Endpoint
}

// As finds what an endpoint can do beyond running processes: the endpoint itself, or one
// that it stands for, as a T such as CPUAccounter.
func As[T any](e Endpoint) (T, bool) {
	for e != nil {
		if t, ok := e.(T); ok {
			return t, true
		}
		w, ok := e.(Wrapper)
		if !ok {
			break
		}
		e = w.Unwrap()
	}
	var none T
	return none, false
}
