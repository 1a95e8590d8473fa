package engine

import (
	"cmp"
	"fmt"

	"nettoll/record"
	"nettoll/workload"
)

// judge looks for flows that received nothing while the window was open. One that received
// something afterwards is slow: its thread, or its peer's, waited for a CPU, or the path for a
// retransmission. That is a warning, since its figures rest on very little data. One that never did
// is broken, and the error names it; but where many flows share a path, some may be silent for
// seconds, see workload.Crowded.
func (t *trial) judge() ([]record.Warning, error) {
	var mute []error
	silent, when := 0, fmt.Sprintf("in the window and for %v after it", lastWait)
	if t.inTurns {
		when = cmp.Or(t.silence, fmt.Sprintf("in a turn and for %v after the last one", lastWait))
	}
	for _, p := range t.parties() {
		silent += p.window.Silent
		for _, at := range p.window.Mute {
			if at < 0 || at >= len(p.flows) {
				return nil, fmt.Errorf("%v: reported flow %d of %d as mute", p, at, len(p.flows))
			}
			mute = append(mute, fmt.Errorf("%v: %s received nothing %s", p, p.flows[at].Label, when))
		}
	}
	if len(mute) > 0 && !workload.Crowded(len(mute), len(t.flows), t.job.Duration) {
		return nil, mute[0]
	}
	return workload.Starved(silent, len(t.flows)), nil
}
