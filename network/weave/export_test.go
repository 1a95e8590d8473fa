package weave

import (
	"slices"
	"time"

	"nettoll/internal/program"
	"nettoll/network"
)

// Named returns the driver of the named variant.
func Named(name string, paths program.Paths) network.Driver { return named(name, paths).driver() }

// Hurried is Named with the given time limits, for weavers that never do what they should.
func Hurried(name string, paths program.Paths, patience, turn time.Duration) network.Driver {
	v := named(name, paths)
	v.patience, v.turn = patience, turn
	return v.driver()
}

func named(name string, paths program.Paths) variant {
	all := variants(paths)
	return all[slices.IndexFunc(all, func(v variant) bool { return v.Name == name })]
}

// The devices that the fake weaver makes, and the address on which it answers.
const (
	Bridge    = bridge
	BridgeEnd = bridgeEnd
	PcapEnd   = pcapEnd
	Control   = control
)
