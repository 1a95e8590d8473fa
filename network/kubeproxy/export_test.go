package kubeproxy

import "nettoll/internal/plumb"

// SetPortion changes how many services kube-proxy learns of at a time, until the function that it returns is called.
func SetPortion(services int) (restore func()) {
	was := portion
	portion = services
	return func() { portion = was }
}

// OnServices has a function called when a host first has the rules of its services, until the function that it returns is called.
func OnServices(do func(*plumb.Host) error) (restore func()) {
	was := onServices
	onServices = do
	return func() { onServices = was }
}
