package plumb

import (
	"context"
	"fmt"
	"net/netip"

	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/platform"
)

// Host is a host of the site.
type Host struct {
	platform.Host
	NS    string
	Index int
	Nodes []*Node // containers on it
}

// addr is the host's address on the underlay.
func (h *Host) addr(six bool) netip.Addr {
	if six {
		return h.Uplink().Addr6.Addr()
	}
	return h.Uplink().Addr4.Addr()
}

// Node is an endpoint of the site.
type Node struct {
	platform.Endpoint
	NS     string
	Host   *Host
	Index  int    // among the containers of its host, from 0
	block  int    // of the address plan, that its addresses are from: as a rule its host's
	Device string // inside, that carries the payload
	Addr4  netip.Addr
	Addr6  netip.Addr
	Port   string // the other end of Device, on the host, where there is one
}

// Addr is the node's address of a family.
func (n *Node) Addr(f network.Family) netip.Addr { return n.addr(f == network.IPv6) }

func (n *Node) addr(six bool) netip.Addr {
	if six {
		return n.Addr6
	}
	return n.Addr4
}

// Plug is how containers are attached.
type Plug struct {
	Device  string // inside the container; empty is eth0
	Flat    bool   // the segment spans all hosts; else the host's own subnet
	Gateway bool   // default route through the bridge's address

	without6 bool // no IPv6
}

// Configure gives the node's device its addresses. It is up before it has any: the
// kernel drops an IPv6 address, in silence, if a device comes up with it in a moment
// when memory for its route cannot be had at once.
func (n *Node) Configure(ctx context.Context, plug Plug) error {
	var b nl.Batch
	b.SetUp(n.Device)
	for _, six := range []bool{false, true} {
		bits := Subnet(n.block, six).Bits()
		if six && plug.without6 {
			break
		}
		if plug.Flat {
			bits = Segment(six).Bits()
		}
		b.AddAddr(n.Device, netip.PrefixFrom(n.addr(six), bits))
		if plug.Gateway {
			b.AddGateway(Gateway(n.block, six))
		}
	}
	return b.Do(ctx, n.NS)
}

// CompleteChecksums has the node's kernel do what is left to devices otherwise, for those
// who take its frames with a program; see nl.CompleteChecksums.
func (n *Node) CompleteChecksums() error {
	if err := nl.CompleteChecksums(n.NS, n.Device); err != nil {
		return fmt.Errorf("%s: %w", n.Name(), err)
	}
	return nil
}

func namespace(e platform.Endpoint) (string, error) {
	if ns := e.Facts().NetNS; ns != "" {
		return ns, nil
	}
	return "", &platform.Unsupported{
		Feature: "plumbing of " + e.Name(), Option: "a platform that shows network namespaces, and root",
		Remedy: "run as root on the machine itself, or measure this network in the lab",
	}
}

// ours refuses to change a host that is the user's own machine.
func (h *Host) ours() error {
	if !h.Facts().Borrowed {
		return nil
	}
	return &platform.Unsupported{
		Feature: "changing the network of this machine", Option: "a host that was made for it",
		Remedy: "--private-engine starts an engine on a host of the lab; or measure this network in the lab itself",
	}
}
