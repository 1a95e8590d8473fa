package weave

import "time"

// Hurried is the technique with little patience, for weavers that never do what they should.
func Hurried(t Technique) Technique {
	t.patience, t.turn = 3*time.Second, 300*time.Millisecond
	return t
}

// What the fake weaver makes, and where it answers.
const (
	Bridge    = bridge
	BridgeEnd = bridgeEnd
	PcapEnd   = pcapEnd
	Control   = control
)
