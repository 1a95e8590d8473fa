package plumb

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/await"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// Part is what the agent on one of several machines builds of a network between them. The machine itself stays as it
// is: its containers, and what connects them, are in namespaces of the agent, and only tunnels and children of the
// uplink lead out of these.
type Part struct {
	Name       string            // of the network
	Uplinks    []platform.Uplink // of all machines, in order
	Own        int               // the machine's index
	Router     string            // the namespace that stands for the machine
	Containers []string          // their namespaces
	Secret     []byte            // shared by all machines, for networks that encrypt
	Place      int               // among the networks that stand on the machines at once, from 0
	Topo       network.Topology  // whose ports are published, for networks that do that
}

// Built is how a part connects its containers.
type Built struct {
	Missing *platform.Missing `json:",omitempty"` // what the machine lacks; then nothing was built
	Taken   bool              `json:",omitempty"` // the tunnel's port is in use on the machine; then nothing was built
	Device  string            // in each container
	Ports   []string          // in the router, of each container; empty if there are none
	// Crossed are the devices of the router between the ports and the uplink, by the index of the other machine.
	Crossed map[int][]string
	// Counters are what counts the payload of the containers besides devices, in the order of the path.
	Counters []Counter
	// Outside is how the router is on the segment that the machines share, if it is an end of the traffic.
	Outside platform.Uplink
}

// Counter counts the payload of a container and is no device, such as rules. The machine's agent reads it.
type Counter struct {
	Name      string // in records, after that of the host
	Kind      network.HopKind
	Container int            // the index of the container
	Family    network.Family // of the payload; 0: of both IP versions
	Other     *int           `json:",omitempty"` // the index of the other machine that the payload comes from or goes to; nil: of any
	Method    string         // Params → network.Count
	Params    any
}

// Counts reports whether the counter is on the path of a container to and from another machine.
func (c Counter) Counts(container, other int, f network.Family) bool {
	return c.Container == container && (c.Family == 0 || c.Family == f) && (c.Other == nil || *c.Other == other)
}

// MethodPart returns the method by which an agent builds its Part of a network.
func MethodPart(network string) string { return "plumb.part." + network }

// A part with daemons outlives the call that builds it: the agent ends it when it is told to, or ends itself. MethodFault
// returns the method by which an agent says what is wrong with the part in a namespace (path → Fault), and MethodEnd that
// by which it ends the part (path → nothing). It is no error if there is none.
func MethodFault(network string) string { return "plumb.fault." + network }

// MethodEnd returns the method by which an agent ends a part; see MethodFault.
func MethodEnd(network string) string { return "plumb.end." + network }

// Fault is what is wrong with a part, if anything is.
type Fault struct {
	Broken  string `json:",omitempty"` // what has broken
	Finding string `json:",omitempty"` // of a network.WrongPath
}

// Builder builds the part of one host, whose containers are its Nodes. The other hosts have uplinks and nothing else.
type Builder func(context.Context, *Site, *Host) (Built, error)

// Handler returns the handler of MethodPart for a network that needs features of the kernel.
func Handler(needs []Need, build Builder) agent.Handler {
	return agent.Typed(func(ctx context.Context, p Part) (Built, error) {
		err := Check(ctx, needs...)
		var s *Site
		var own *Host
		if err == nil {
			s, own, err = p.site()
		}
		var b Built
		if err == nil {
			b, err = build(ctx, s, own)
		}
		if err == nil {
			err = s.Settle(ctx)
		}
		if missing := platform.Lacks(err); missing != nil {
			return Built{Missing: missing}, nil
		}
		if errors.Is(err, unix.EADDRINUSE) {
			return Built{Taken: true}, nil
		}
		if err != nil {
			return Built{}, err
		}
		for _, n := range own.Nodes {
			b.Device = n.Device
			if n.Port != "" {
				b.Ports = append(b.Ports, n.Port)
			}
		}
		return b, nil
	})
}

// site returns the site of which the part is one host.
func (p Part) site() (*Site, *Host, error) {
	if p.Own < 0 || p.Own >= len(p.Uplinks) {
		return nil, nil, fmt.Errorf("%s: machine %d of %d", p.Name, p.Own+1, len(p.Uplinks))
	}
	s := &Site{transient: true, Secret: p.Secret, Beside: p.Place, Topo: p.Topo} // everything is in the namespaces
	for i, u := range p.Uplinks {
		s.Hosts = append(s.Hosts, &Host{Host: &far{name: fmt.Sprintf("h%d", i+1), uplink: u}, Index: i})
	}
	own := s.Hosts[p.Own]
	own.NS, own.Apart = p.Router, true
	for i, path := range p.Containers {
		if _, err := s.Adopt(own, &far{name: fmt.Sprintf("%sc%d", own.Name(), i+1), ns: path}); err != nil {
			return nil, nil, err
		}
	}
	return s, own, nil
}

// far is a host, or a container, of which only the namespace or the uplink is known.
type far struct {
	name, ns string
	uplink   platform.Uplink
}

func (f *far) Name() string            { return f.name }
func (f *far) OnHost() string          { return f.name }
func (f *far) Facts() platform.Facts   { return platform.Facts{NetNS: f.ns} }
func (f *far) Uplink() platform.Uplink { return f.uplink }

var errFar = errors.New("nothing can be started there: only its network is known")

func (f *far) Start(context.Context, platform.Command) (platform.Process, error) {
	return nil, fmt.Errorf("%s: %w", f.name, errFar)
}

func (f *far) Containers(context.Context, int) ([]platform.Endpoint, error) {
	return nil, fmt.Errorf("%s: %w", f.name, errFar)
}

// provisional is the name of a device while it is made: kernels before 6.2 refuse a name that a device of the namespace
// below has, too.
const provisional = nl.Provisional

// goneTime is how long a device of an agent that was killed may take to disappear.
const goneTime = 10 * time.Second

// adding is held while a device has its provisional name.
var adding sync.Mutex

// AddOver makes a device that is on top of the host's uplink, or whose packets leave by it, in the host's namespace. If
// that is apart from the uplink, the device is made there at once (except ownTunnels), and keeps the uplink's namespace
// as that of its outer packets: the machine never sees it, and it ends with its own namespace. parent, if it is not nil,
// is called with the uplink before the device is made.
func (h *Host) AddOver(device netlink.Link, parent func(uplink netlink.Link)) error {
	if !h.Apart {
		return nl.With(h.NS, func(n *nl.NS) error { return h.addOver(n, device, parent) })
	}
	adding.Lock()
	defer adding.Unlock()
	name := device.Attrs().Name
	err := netns.Hold(h.NS, func(fd int) error {
		device.Attrs().Name = provisional
		add := func(n *nl.NS) error { return h.addThenMove(n, device, fd) }
		if !ownTunnels[device.Type()] {
			device.Attrs().Namespace = netlink.NsFd(fd)
			add = func(n *nl.NS) error { return h.addOver(n, device, parent) }
		}
		return await.Until(context.Background(), goneTime, 50*time.Millisecond, func(context.Context) (taken, err error) {
			if err = nl.With("", add); errors.Is(err, unix.EEXIST) {
				return err, nil
			}
			return nil, err
		})
	})
	if errors.Is(err, unix.EEXIST) {
		return &platform.Unsupported{
			Feature: "a " + device.Type() + " device", Option: "that no other of the machine has the same identifier, port or addresses",
			Remedy: "remove the other one, or measure another network", Err: err,
		}
	}
	if err != nil {
		return err
	}
	return nl.With(h.NS, func(n *nl.NS) error { return n.Rename(provisional, name) })
}

// ownTunnels are the kinds of devices that send their outer packets in the namespace in which they are made (until Linux
// 6.15; ip_tunnel_newlink in net/ipv4/ip_tunnel.c): they are made in that of the uplink and then moved.
var ownTunnels = map[string]bool{"ipip": true, "gre": true}

func (h *Host) addThenMove(n *nl.NS, device netlink.Link, to int) error {
	if err := n.Add(device); err != nil {
		return err
	}
	if err := n.LinkSetNsFd(device, to); err != nil {
		return errors.Join(fmt.Errorf("move %s: %w", device.Attrs().Name, err), n.Remove(device.Attrs().Name))
	}
	return nil
}

func (h *Host) addOver(n *nl.NS, device netlink.Link, parent func(netlink.Link)) error {
	if parent != nil {
		uplink, err := n.Link(h.Uplink().Device)
		if err != nil {
			return err
		}
		parent(uplink)
	}
	return n.Add(device)
}

// SparesLRO returns an error if the uplink, or a device below it, merges packets that it receives (LRO, large receive offload), as
// some network cards do. Where a namespace forwards or bridges on top of the uplink, the kernel turns that off on all of these, and
// nothing turns it on again (dev_disable_lro in net/core/dev.c): the machine would not stay as it is, nor would its native.
func (h *Host) SparesLRO() error {
	const lro = "rx-lro"
	if !h.Apart {
		return nil
	}
	var all []nl.Interface
	err := nl.With("", func(n *nl.NS) (err error) {
		all, err = n.Interfaces()
		return err
	})
	if err != nil {
		return err
	}
	return nl.WithEthtool("", func(e nl.Ethtool) error {
		for _, d := range below(all, h.Uplink().Device) {
			features, err := e.Features(d)
			if err != nil {
				return fmt.Errorf("offloads of %s: %w", d, err)
			}
			if is := features[lro]; is.On && !is.Fixed {
				return &platform.Unsupported{
					Feature: "forwarding on top of " + h.Uplink().Device,
					Option:  "that " + d + " does not merge packets: it has LRO on, which forwarding turns off for the whole machine",
					Remedy:  "ethtool -K " + d + " lro off, as on machines that forward",
				}
			}
		}
		return nil
	})
}

// below returns a device and all that its packets leave by, such as the ports of a bond.
func below(all []nl.Interface, device string) []string {
	names := []string{device}
	for i := 0; i < len(names); i++ {
		upper, _ := record.First(all, func(d nl.Interface) bool { return d.Name == names[i] })
		for _, d := range all {
			parent := d.Index == upper.Peer && upper.Home == nl.Here && upper.Kind != "veth"
			if port := d.Master == upper.Index && upper.Index > 0; (parent || port) && !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

// Outside returns how the namespace that stands for a machine is on the segment that the machines share: by a device with the
// external addresses of a number. Networks that can stand at once use different numbers.
func (h *Host) Outside(device string, number int) platform.Uplink {
	return platform.Uplink{
		Device: device, MTU: h.Uplink().MTU,
		Addr4: netip.PrefixFrom(ExternalAddr(h.Index, number, false), 16), Addr6: netip.PrefixFrom(ExternalAddr(h.Index, number, true), 64),
	}
}

// Join gives the namespace that stands for a machine the device of its Outside, on the machine's uplink. It does not change
// the machine.
func (h *Host) Join(device string, number int) error {
	child := &netlink.Macvlan{LinkAttrs: nl.Attrs(device, 0), Mode: netlink.MACVLAN_MODE_BRIDGE}
	if err := h.AddOver(child, func(uplink netlink.Link) { child.ParentIndex = uplink.Attrs().Index }); err != nil {
		return err
	}
	at := h.Outside(device, number)
	return nl.With(h.NS, func(n *nl.NS) error { return n.UpAs(device, at.Addr4, at.Addr6) })
}
