package cni

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/containernetworking/cni/libcni"

	"nettoll/internal/atonce"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/oneline"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
)

// attacher attaches containers.
type attacher struct {
	tech variant
	site *plumb.Site
	id   string // begins the IDs of containers: no other network's do, by which plugins keep state
	on   map[*plumb.Host]*caller

	mu    sync.Mutex
	begun []*plumb.Node // attached, or half attached
}

// device is the name of containers' devices.
const device = "eth0"

// parallel is how many containers are attached at the same time.
const parallel = 4

// all attaches every container. The first of each host is attached on its own, since no shared device
// exists yet: plugins that make one, such as a bridge, may not expect to run concurrently.
func (a *attacher) all(ctx context.Context) error {
	// State that a user's plugins keep elsewhere does not disappear with the hosts.
	push := a.site.Push
	if a.tech.list == nil {
		push = a.site.Made
	}
	push("containers' attachments", a.detach)
	var others []*plumb.Node
	for _, h := range a.site.Hosts {
		for i, node := range h.Nodes {
			if i > 0 {
				others = append(others, node)
				continue
			}
			if err := a.on[h].valid(ctx); err != nil {
				return err
			}
			if err := a.add(ctx, node); err != nil {
				return err
			}
		}
	}
	return each(ctx, others, a.add)
}

// valid asks the plugins, before anything is made, whether they support the conflist's version.
func (c *caller) valid(ctx context.Context) error {
	_, err := c.ValidateNetworkList(ctx, c.list)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errors.New(strings.Trim(oneline.Output(err.Error()), "[]")) // libcni prints the error as a list, usually of one
}

// add attaches one container.
func (a *attacher) add(ctx context.Context, n *plumb.Node) error {
	a.mu.Lock()
	a.begun = append(a.begun, n) // a failed attachment must be deleted, too
	a.mu.Unlock()
	c := a.on[n.Host]
	result, err := c.AddNetworkList(ctx, c.list, a.conf(n))
	if err == nil {
		err = settle(ctx, n, result)
	}
	return wrap.Error(err, "%s", n.Name())
}

// conf returns the plugins' parameters for a container.
func (a *attacher) conf(n *plumb.Node) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{
		ContainerID: a.id + "-" + n.Name(), NetNS: netns.Reachable(n.NS), IfName: device,
		CapabilityArgs: a.tech.wanted(n),
	}
}

// each runs do for all containers, a few at a time, and returns the first error.
func each(ctx context.Context, nodes []*plumb.Node, do func(context.Context, *plumb.Node) error) error {
	err := atonce.All(ctx, parallel, nodes, func(ctx context.Context, _ int, n *plumb.Node) error {
		if ctx.Err() != nil {
			return nil
		}
		return do(ctx, n)
	})
	return cmp.Or(err, context.Cause(ctx))
}

// detach undoes the attachment of the containers, until ctx ends.
func (a *attacher) detach(ctx context.Context) error {
	a.mu.Lock()
	begun := a.begun
	a.begun = nil
	a.mu.Unlock()
	var mu sync.Mutex
	var errs []error
	asked := 0
	early := each(ctx, begun, func(ctx context.Context, n *plumb.Node) error {
		c := a.on[n.Host]
		err := c.DelNetworkList(ctx, c.list, a.conf(n))
		if ctx.Err() != nil {
			return nil // it was cut short, so the container does not count
		}
		mu.Lock()
		defer mu.Unlock()
		asked++
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.Name(), err))
		}
		return nil // the others are detached anyway
	})
	if asked < len(begun) {
		errs = append(errs, fmt.Errorf("the plugins detached only %d of %d containers: %w", asked, len(begun), early))
	}
	return errors.Join(errs...)
}

// keepDevices arranges for the removal of devices that plugins make on hosts and leave there, such
// as bridges.
func (a *attacher) keepDevices() error {
	for _, h := range a.site.Hosts {
		before, err := devices(h.NS)
		if err != nil {
			return err
		}
		a.site.MadeIn(h.NS, "devices of plugins", func(in *nl.NS) error {
			now, err := in.Interfaces()
			errs := []error{err}
			for _, d := range now {
				if _, was := before[d.Index]; !was {
					errs = append(errs, in.Remove(d.Name))
				}
			}
			return errors.Join(errs...)
		})
	}
	return nil
}

// devices returns the devices of a namespace by index.
func devices(ns string) (map[int]nl.Interface, error) {
	all, err := nl.Ask(ns, (*nl.NS).Interfaces)
	by := map[int]nl.Interface{}
	for _, d := range all {
		by[d.Index] = d
	}
	return by, err
}
