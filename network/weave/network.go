// Package weave measures Weave Net 2.x: on each host its weaver takes frames off a port of the
// containers' bridge, and carries them to the other weavers, in user space (sleeve) or through the
// kernel's Open vSwitch datapath (fastdp). The user provides the program.
package weave

import (
	"context"
	"time"

	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/network"
	"nettoll/record"
)

// variant is Weave with one of its ways between hosts.
type variant struct {
	network.Info
	paths     program.Paths
	fast      bool // through the kernel's datapath, otherwise sleeve
	encrypted bool

	patience time.Duration // how long weavers may take to find each other
	turn     time.Duration // how long they may then take to agree on how to carry payload
}

const (
	patience = 40 * time.Second
	// turn is the time of several of the first heartbeats, half a second apart, by which weavers
	// detect that the fast datapath works. Until then they use sleeve.
	turn = 20 * time.Second
)

const sleeveAbout = "Weave Net without its fast datapath: weaver takes frames off a port of the bridge by pcap and carries them in UDP; " +
	"checksums and segmentation offload of the containers are off, as Weave has it; MTU 1376, as with its fast datapath (left alone, weaver says 65535 and TCP finds out what crosses)"

// All returns every variant, in the order of reports.
func All(paths program.Paths) []network.Driver {
	return record.Each(variants(paths), variant.driver)
}

func variants(paths program.Paths) []variant {
	all := []variant{
		{Info: network.Info{Name: "weave-sleeve", About: sleeveAbout}},
		{encrypted: true, Info: network.Info{Name: "weave-sleeve-encrypted", About: sleeveAbout + "; encrypted by weaver (NaCl)"}},
		{fast: true, Info: network.Info{Name: "weave-fastdp",
			About: "Weave Net with its fast datapath: weaver sets up the kernel's Open vSwitch datapath, which carries frames in VXLAN; MTU 1376, weaver's own"}},
	}
	for i := range all {
		v := &all[i]
		v.paths, v.patience, v.turn = paths, patience, turn
		v.Hosts, v.Families = []int{2}, []int{4}         // Weave gives containers IPv4 addresses only
		v.Endpoints, v.Overflow = plumb.MaxPorts-1, true // one port of its bridge is weaver's
		v.Carried, v.Startup = true, 2*time.Second       // the weavers have to find each other and to agree on how to carry payload
	}
	return all
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
