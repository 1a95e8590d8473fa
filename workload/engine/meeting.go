package engine

import "net/netip"

// meeting is how the two ends of a flow find each other.
type meeting struct {
	// listen makes a server take in flows that know the cookie at one more address. It
	// returns when clients can come.
	listen func(s *session, at netip.AddrPort) error
	// dial connects a client's flow, on the thread on which it will run.
	dial func(s *session, f *flow, spec flowSpec) error
	// managed flows run on Go's scheduler and its collector.
	managed bool
	// brief is for servers that make connections of their own once all flows are there.
	brief bool
}

func overTCP() meeting { return meeting{listen: listenTCP, dial: dialTCP} }

func overUDP() meeting { return meeting{listen: listenUDP, dial: dialUDP} }
