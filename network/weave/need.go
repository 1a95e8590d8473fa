package weave

import (
	"context"
	"errors"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
)

// tryBridge says whether weaver can make its bridge. It does so by means of a dummy
// device; where there are none, it is run to see whether this weaver needs one.
func (v variant) tryBridge(ctx context.Context, p platform.Platform) error {
	err := plumb.Check(ctx, plumb.Dummy)
	var missing *platform.Unsupported
	if !errors.As(err, &missing) || daemon.Available() != nil { // else it cannot be tried here
		return err
	}
	missing.Err = v.runs(ctx, p)
	switch {
	case missing.Err == nil:
		return nil
	case ctx.Err() != nil:
		return missing.Err
	}
	return missing
}

// runs runs weaver on a host that nothing else is on.
func (v variant) runs(ctx context.Context, p platform.Platform) error {
	w, err := v.find(ctx)
	if err != nil {
		return err
	}
	s, err := plumb.BeginHosts(ctx, network.Topology{Hosts: 1}, p)
	if err != nil {
		return err
	}
	n := v.on(&plumb.Network{Site: s}, w)
	if n.dir, err = daemon.State(&s.Stack); err == nil {
		err = n.start(ctx, s.Hosts[0])
	}
	return s.Abandon(ctx, err)
}
