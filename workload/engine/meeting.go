package engine

import "net/netip"

// meeting is how the two ends of a flow find each other.
type meeting struct {
	// listen makes a server accept flows that know the cookie at an additional address. It returns
	// when clients can connect.
	listen func(s *session, at netip.AddrPort) error
	// dial connects a client's flow, on the thread on which it will run.
	dial func(s *session, f *flow, spec flowSpec) error
	// managed flows run on Go's scheduler, with its collector.
	managed bool
	// brief is for workloads whose flows accept further connections themselves once all flows are
	// there.
	brief bool
}

func overTCP() meeting { return meeting{listen: listenTCP, dial: dialTCP} }

func overUDP() meeting { return meeting{listen: listenUDP, dial: dialUDP} }
