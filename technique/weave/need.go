package weave

import (
	"context"

	"github.com/vishvananda/netlink"

	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/platform"
	"nettoll/technique"
)

// tryDatapath asks the kernel for Open vSwitch's.
func tryDatapath() error {
	err := try(func() error { return nl.HasFamily("", "ovs_datapath") })
	if err == nil {
		return nil
	}
	return &platform.Unsupported{
		Feature: "Weave's fast datapath", Option: "CONFIG_OPENVSWITCH", Err: err,
		Remedy: "modprobe openvswitch as root, or use a kernel that has CONFIG_OPENVSWITCH; weave-sleeve does without",
	}
}

// tryBridge says whether weaver can make its bridge. It does so by means of a dummy
// device; where there are none, it is run to see whether this weaver needs one.
func (t Technique) tryBridge(ctx context.Context, p platform.Platform, w weaver) error {
	err := try(func() error {
		return nl.With("", func(n *nl.NS) error {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "tried"
			return n.Add(&netlink.Dummy{LinkAttrs: attrs})
		})
	})
	if err == nil {
		return nil
	}
	missing := &platform.Unsupported{
		Feature: "weaver's bridge", Option: "CONFIG_DUMMY", Err: err,
		Remedy: "modprobe dummy as root, or use a kernel that has CONFIG_DUMMY",
	}
	if daemon.Available() != nil {
		return missing // it cannot be tried here
	}
	if missing.Err = t.runs(ctx, p, w); missing.Err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return missing.Err
	}
	return missing
}

// runs runs weaver on a host that nothing else is on.
func (t Technique) runs(ctx context.Context, p platform.Platform, w weaver) error {
	s, err := plumb.BeginHosts(ctx, technique.Topology{Hosts: 1}, p)
	if err != nil {
		return err
	}
	n := t.network(s, w)
	if n.dir, err = daemon.State(&s.Stack); err == nil {
		err = n.start(ctx, s.Hosts[0])
	}
	return s.Abandon(ctx, err)
}

// try runs fn in a new namespace.
func try(fn func() error) error {
	made, err := netns.New(1, fn)
	for _, ns := range made {
		ns.Close()
	}
	return err
}
