package docker

import (
	"context"
	"errors"

	"nettoll/docker/engine"
	"nettoll/internal/uplink"
	"nettoll/platform"
)

// join gives machines of the user, which are the hosts of one network, their uplinks. The error says why they have none,
// although there are several.
func (d *Docker) join(ctx context.Context, hosts []*engine.Host) error {
	var links []platform.Uplink
	if len(hosts) > 1 {
		var err error
		if links, err = d.uplinks(ctx); err != nil {
			return err
		}
	}
	for i, h := range hosts {
		at := platform.Uplink{}
		if links != nil {
			at = links[i]
		}
		h.SetUplink(at)
	}
	return nil
}

// uplinks finds the devices and addresses by which the user's machines reach each other, once, also if there are none: what
// the user was told of them remains true.
func (d *Docker) uplinks(ctx context.Context) ([]platform.Uplink, error) {
	const feature = "traffic between machines of your own"
	if !d.o.Through {
		return nil, &platform.Unsupported{
			Feature: feature, Option: "your permission",
			Remedy: "--through-my-network allows it, and --max-rate bounds it; or --private-engine starts engines on hosts of the lab",
		}
	}
	if d.links != nil || d.apart != nil {
		return d.links, d.apart
	}
	var of []uplink.Machine
	for i, h := range d.borrowed {
		name := d.name(i)
		m, err := h.Machine(ctx, name, d.o.At[name])
		if errors.Is(err, platform.ErrUnsupported) {
			d.apart = err
		}
		if err != nil {
			return nil, err
		}
		of = append(of, m)
	}
	links, err := uplink.Join(ctx, of)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		d.apart = &platform.Unsupported{
			Feature: feature, Option: "addresses by which they reach each other", Err: err,
			Remedy: "name them with --address; or --private-engine starts engines on hosts of the lab",
		}
	}
	d.links = links
	return d.links, d.apart
}

// name returns the user's name of an engine.
func (d *Docker) name(i int) string {
	if i < len(d.o.Names) {
		return d.o.Names[i]
	}
	return d.borrowed[i].Name()
}

// Ways describes between which addresses and devices of the user's machines traffic goes. It is asked before networks stand:
// its containers are removed, since those of another platform on the same engines have the same names.
func (d *Docker) Ways(ctx context.Context) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	links, err := d.uplinks(ctx)
	for _, h := range d.borrowed {
		if left := h.Empty(ctx); err == nil {
			err = left
		}
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range links {
		names = append(names, d.name(i))
	}
	return uplink.Ways(names, links), nil
}
