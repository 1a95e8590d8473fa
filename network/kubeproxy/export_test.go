package kubeproxy

// SetPortion changes how many services kube-proxy learns of at a time, until the function that it returns is called.
func SetPortion(services int) (restore func()) {
	was := portion
	portion = services
	return func() { portion = was }
}
