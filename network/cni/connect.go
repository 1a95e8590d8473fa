package cni

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containernetworking/cni/libcni"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/internal/undo"
	"nettoll/network"
	"nettoll/record"
)

func (v variant) build(ctx context.Context, on *plumb.Network) error {
	n := &build{Network: on, tech: v, plugs: map[*plumb.Node]*plug{}, ways: map[leg]way{}, closed: map[leg]error{}}
	n.Hops, n.Refuse, n.MadeUp = n.hops, n.refuse, n.madeUp
	if modes[v.plugin] != "" {
		n.OnWire = bare
	}
	return n.build(ctx)
}

// build is a network that plugins have built.
type build struct {
	*plumb.Network
	tech   variant
	plugs  map[*plumb.Node]*plug
	ways   map[leg]way   // between hosts
	closed map[leg]error // why there is no way
}

func (n *build) build(ctx context.Context) error {
	dir, err := daemon.State(&n.Stack)
	if err != nil {
		return err
	}
	if n.tech.list != nil {
		if err := hideState(&n.Stack); err != nil {
			return err
		}
	}
	a := &attacher{tech: n.tech, site: n.Site, id: filepath.Base(dir), on: map[*plumb.Host]*caller{}}
	if err := record.Try(n.Hosts, func(h *plumb.Host) error { return a.host(h, dir) }); err != nil {
		return err
	}
	if err := a.keepDevices(); err != nil {
		return err
	}
	if err := a.all(ctx); err != nil {
		return err
	}
	if err := distinct(n.Site); err != nil {
		return err
	}
	for _, node := range n.Nodes() {
		if n.plugs[node], err = look(ctx, node); err != nil {
			return err
		}
	}
	if err := n.lead(); err != nil {
		return err
	}
	n.remark()
	return nil
}

// bare matches packets of containers on the underlay, for either family: a device's packets include
// neighbour requests and announcements of both.
func bare(network.Family) string {
	return fmt.Sprintf("net %s or net %s", plumb.Segment(false), plumb.Segment(true))
}

// machineState is the folder where plugins keep their state by convention, unless configured
// otherwise.
const machineState = "/var/lib/cni"

// hidden counts the networks for which the machine's folder is hidden. They share one folder in its place: one for each would lie
// over those of the others, whose plugins would not find their state.
var hidden struct {
	sync.Mutex
	networks int
	stack    undo.Stack
}

// hideState hides the machine's folder until the stack is closed.
func hideState(stack *undo.Stack) error {
	hidden.Lock()
	defer hidden.Unlock()
	if hidden.networks == 0 {
		if err := daemon.Hide(&hidden.stack, machineState); err != nil {
			return err
		}
	}
	hidden.networks++
	stack.Push("hold on the state of plugins", func(ctx context.Context) error {
		hidden.Lock()
		defer hidden.Unlock()
		if hidden.networks--; hidden.networks > 0 {
			return nil
		}
		return hidden.stack.Close(ctx)
	})
	return nil
}

// caller calls the plugins on one host.
type caller struct {
	*libcni.CNIConfig
	list *libcni.NetworkConfigList
}

// host prepares calls of plugins on a host.
func (a *attacher) host(h *plumb.Host, dir string) error {
	var err error
	c := &caller{CNIConfig: libcni.NewCNIConfigWithCacheDir(a.tech.in, filepath.Join(dir, "cache"),
		&runner{host: h, in: a.tech.in, patience: a.tech.patience})}
	if a.tech.list != nil {
		c.list, err = a.tech.list.keptIn(filepath.Join(dir, "addresses"))
	} else {
		c.list, err = a.tech.generate(h, a.site.Topo.Underlay.MTU, dir)
	}
	a.on[h] = c
	return err
}

// madeUp returns the names that plugins made up, each followed by the name that replaces it.
func (n *build) madeUp() (names []string) {
	for _, node := range n.Nodes() {
		if p := n.plugs[node]; p.port != "" {
			names = append(names, p.port, portName(node))
		}
	}
	return names
}

// remark adds notes on how the network was built.
func (n *build) remark() {
	var unknown []string
	for _, node := range n.Nodes() {
		p := n.plugs[node]
		if p.port == "" && p.parent == "" {
			unknown = append(unknown, fmt.Sprintf("%s (%s)", node.Name(), p.kind))
		}
	}
	if len(unknown) > 0 {
		n.Unproved = append(n.Unproved, "it is not known what packets cross between these containers' devices and the hosts, so that part of the path is not proved: "+strings.Join(unknown, ", "))
	}
	if len(n.Hosts) == 1 {
		return
	}
	for _, node := range n.Nodes() {
		p, under := n.plugs[node], node.Host.Uplink()
		if p.mtu > under.MTU {
			n.Notes = append(n.Notes, fmt.Sprintf("the MTU of %s is %d, and that of the underlay %d: large packets do not cross in one piece", node.Name(), p.mtu, under.MTU))
			return // once is enough
		}
	}
}
