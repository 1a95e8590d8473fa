package workload

import (
	"fmt"
	"time"

	"nettoll/record"
)

// WarnStarved is the code of the warning that flows received nothing in the window.
const WarnStarved = "starved-flows"

// Many flows on one link can leave a few of them without a segment for a window: each
// retransmission that times out waits twice as long as the one before, from 200 ms
// (Linux's TCP_RTO_MIN), so that a flow which lost three in a row is silent for more
// than a second. Of 128 flows on a full link of 70 Mbit/s, without any container network,
// 2 to 79 were silent for one.
const (
	crowd       = 16  // flows
	crowdSilent = 0.7 // of them; more are a fault
	crowdWindow = 5000 * time.Millisecond
)

// Crowded says whether silent flows among so many can be explained by their
// number, in a window of that length.
func Crowded(silent, flows int, window time.Duration) bool {
	return flows >= crowd && float64(silent) <= crowdSilent*float64(flows) && window <= crowdWindow
}

// Starved is the warning about silent flows that are no reason to fail.
func Starved(silent, flows int) record.Warning {
	return record.Warning{
		Code: WarnStarved,
		Text: fmt.Sprintf("%d of %d flows received nothing while the window was open: they waited for a CPU, or for a path that many share, longer than it lasts", silent, flows),
	}
}
