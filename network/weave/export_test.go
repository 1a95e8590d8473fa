package weave

import (
	"time"

	"nettoll/internal/program"
	"nettoll/network"
)

// Variants with little patience, for weavers that never do what they should.
func HurriedSleeve(paths program.Paths) network.Driver          { return hurried(sleeveOf(paths)) }
func HurriedEncryptedSleeve(paths program.Paths) network.Driver { return hurried(encryptedOf(paths)) }
func HurriedFastDatapath(paths program.Paths) network.Driver    { return hurried(fastOf(paths)) }

func hurried(v variant) network.Driver {
	v.patience, v.turn = 3*time.Second, 300*time.Millisecond
	return v.driver()
}

// What the fake weaver makes, and where it answers.
const (
	Bridge    = bridge
	BridgeEnd = bridgeEnd
	PcapEnd   = pcapEnd
	Control   = control
)
