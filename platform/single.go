package platform

// Single is a platform whose networks stand one at a time: they are on the same hosts, and would
// want the same ports and addresses.
type Single interface {
	Platform
	OneAtATime()
}
