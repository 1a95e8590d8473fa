package cni

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/containernetworking/cni/libcni"

	"nettoll/internal/plumb"
)

// attacher attaches containers.
type attacher struct {
	tech variant
	site *plumb.Site
	on   map[*plumb.Host]*caller

	mu    sync.Mutex
	begun []*plumb.Node // attached, or half attached
}

// device is what containers' devices are to be called.
const device = "eth0"

// parallel is how many containers are attached at the same time.
const parallel = 4

// all attaches every container. The first of each host comes alone: it finds nothing, and
// plugins that make what all share, as a bridge, may not expect company.
func (a *attacher) all(ctx context.Context) error {
	// What plugins of the user's keep elsewhere does not go with the hosts.
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

// valid asks the plugins, before anything is made, whether they know the conflist's version.
func (c *caller) valid(ctx context.Context) error {
	_, err := c.ValidateNetworkList(ctx, c.list)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errors.New(strings.Trim(oneLine(err.Error()), "[]")) // libcni's list has one, as a rule
}

// add attaches one container.
func (a *attacher) add(ctx context.Context, n *plumb.Node) error {
	a.mu.Lock()
	a.begun = append(a.begun, n) // also what fails is to be deleted
	a.mu.Unlock()
	c := a.on[n.Host]
	result, err := c.AddNetworkList(ctx, c.list, a.conf(n))
	if err == nil {
		err = settle(ctx, n, result)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name(), err)
	}
	return nil
}

// conf is what plugins are told of a container.
func (a *attacher) conf(n *plumb.Node) *libcni.RuntimeConf {
	return &libcni.RuntimeConf{
		ContainerID: "nettoll-" + n.Name(), NetNS: reachable(n.NS), IfName: device,
		CapabilityArgs: a.tech.wanted(n),
	}
}

// reachable is the path of a namespace for other processes than this one.
func reachable(ns string) string {
	const own = "/proc/self/"
	if rest, ok := strings.CutPrefix(ns, own); ok {
		return "/proc/" + strconv.Itoa(os.Getpid()) + "/" + rest
	}
	return ns
}

// each runs do for all containers, some at a time, and gives the first error.
func each(ctx context.Context, nodes []*plumb.Node, do func(context.Context, *plumb.Node) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *plumb.Node)
	var wg sync.WaitGroup
	for range min(parallel, len(nodes)) {
		wg.Go(func() {
			for n := range next {
				if err := do(ctx, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, n := range nodes {
		if ctx.Err() != nil {
			break
		}
		next <- n
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
