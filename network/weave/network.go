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
	"nettoll/network"
)

// variant is Weave in one of its ways.
type variant struct {
	network.Info
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

const sleeveAbout = "Weave Net without its fast datapath: weaver takes frames off a port of the bridge by pcap and carries them in UDP; " +
	"checksums and segmentation offload of the containers are off, as Weave has it; MTU 1376, as with its fast datapath (left alone, weaver says 65535 and TCP finds out what crosses)"

// NewSleeve is the variant in user space.
func NewSleeve(paths program.Paths) network.Driver { return sleeveOf(paths).driver() }

// NewEncryptedSleeve is the variant in user space with a password.
func NewEncryptedSleeve(paths program.Paths) network.Driver { return encryptedOf(paths).driver() }

// NewFastDatapath is the variant in the kernel.
func NewFastDatapath(paths program.Paths) network.Driver { return fastOf(paths).driver() }

// All is every variant, in the order of reports.
func All(paths program.Paths) []network.Driver {
	return []network.Driver{NewSleeve(paths), NewEncryptedSleeve(paths), NewFastDatapath(paths)}
}

func sleeveOf(paths program.Paths) variant { return variantOf(paths, "weave-sleeve", sleeveAbout) }

func encryptedOf(paths program.Paths) variant {
	v := variantOf(paths, "weave-sleeve-encrypted", sleeveAbout+"; encrypted by weaver (NaCl)")
	v.encrypted = true
	return v
}

func fastOf(paths program.Paths) variant {
	v := variantOf(paths, "weave-fastdp", "Weave Net with its fast datapath: weaver sets up the kernel's Open vSwitch datapath, which carries frames in VXLAN; MTU 1376, weaver's own")
	v.fast = true
	return v
}

func variantOf(paths program.Paths, name, about string) variant {
	return variant{paths: paths, patience: patience, turn: turn, Info: network.Info{
		Name: name, About: about, Hosts: []int{2},
		Families:  []int{4},           // that of which Weave gives containers addresses
		Endpoints: plumb.MaxPorts - 1, // one port of its bridge is weaver's
		Overflow:  true,
		Startup:   2 * time.Second, // the weavers have to find each other and to agree on how to carry
	}}
}

func (v variant) driver() network.Driver {
	needs := []plumb.Need{plumb.Veth, plumb.BridgeDevice}
	if v.fast {
		needs = append(needs, plumb.Datapath.Or("weave-sleeve"))
	}
	return plumb.Recipe{
		Info: v.Info, Needs: needs,
		Have: func(ctx context.Context) error {
			_, err := v.find(ctx)
			return err
		},
		Try: v.tryBridge,
		Build: func(ctx context.Context, on *plumb.Network) error {
			w, err := v.find(ctx)
			if err != nil {
				return err
			}
			if err := on.Fits(v.Name, v.Families, v.mtu); err != nil {
				return err
			}
			return v.on(on, w).build(ctx)
		},
	}.Driver()
}
