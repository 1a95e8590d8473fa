// Package weave measures Weave Net 2.x: on each host its weaver takes frames off a port of
// the bridge that the containers are on, and carries them to the other weavers, in user
// space (sleeve) or through the kernel's Open vSwitch datapath (fastdp). The program is the
// user's.
package weave

import (
	"context"
	"time"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/platform"
)

// Technique is Weave in one of its variants.
type Technique struct {
	paths     program.Paths
	fast      bool // by the kernel's datapath, else sleeve
	encrypted bool

	patience time.Duration // how long weavers may take to find each other
	turn     time.Duration // how long they may take then to agree on how to carry
}

const (
	patience = 20 * time.Second
	// turn is several of the first heartbeats, half a second apart, by which weavers see
	// that the fast datapath works. Until then they use sleeve.
	turn = 10 * time.Second
)

// NewSleeve gives the variant in user space.
func NewSleeve(paths program.Paths) Technique {
	return Technique{paths: paths, patience: patience, turn: turn}
}

// NewEncryptedSleeve gives the variant in user space with a password.
func NewEncryptedSleeve(paths program.Paths) Technique {
	t := NewSleeve(paths)
	t.encrypted = true
	return t
}

// NewFastDatapath gives the variant in the kernel.
func NewFastDatapath(paths program.Paths) Technique {
	t := NewSleeve(paths)
	t.fast = true
	return t
}

// All gives every variant, in the order of reports.
func All(paths program.Paths) []Technique {
	return []Technique{NewSleeve(paths), NewEncryptedSleeve(paths), NewFastDatapath(paths)}
}

// Name implements network.Technique.
func (t Technique) Name() string {
	switch {
	case t.fast:
		return "weave-fastdp"
	case t.encrypted:
		return "weave-sleeve-encrypted"
	}
	return "weave-sleeve"
}

// About implements network.Technique.
func (t Technique) About() string {
	const sleeve = "Weave Net without its fast datapath: weaver takes frames off a port of the bridge by pcap and carries them in UDP; " +
		"checksums and segmentation offload of the containers are off, as Weave has it; MTU 1376, as with its fast datapath (left alone, weaver says 65535 and TCP finds out what crosses)"
	switch {
	case t.fast:
		return "Weave Net with its fast datapath: weaver sets up the kernel's Open vSwitch datapath, which carries frames in VXLAN; MTU 1376, weaver's own"
	case t.encrypted:
		return sleeve + "; encrypted by weaver (NaCl)"
	}
	return sleeve
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{2} }

// Families are the IP versions that it carries: Weave gives containers addresses of one.
func (Technique) Families() []int { return []int{4} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold: one port of its bridge is
// weaver's.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts - 1 }

// Startup is about what the weavers take to find each other and to agree on how to carry.
func (Technique) Startup() time.Duration { return 2 * time.Second }

// Probe implements network.Technique.
func (t Technique) Probe(ctx context.Context, p platform.Platform) error {
	w, err := t.find(ctx)
	if err != nil {
		return err
	}
	needs := []plumb.Need{plumb.Veth, plumb.BridgeDevice}
	if t.fast {
		needs = append(needs, plumb.Datapath.Or("weave-sleeve"))
	}
	if err := plumb.Check(ctx, needs...); err != nil {
		return err
	}
	return t.tryBridge(ctx, p, w)
}
