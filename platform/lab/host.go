package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/nsexec"
	"nettoll/platform"
	"nettoll/record"
)

// endpoint is a namespace in which processes run.
type endpoint struct {
	name string
	host string
	ns   *netns.NS
}

// Name implements platform.Endpoint.
func (e *endpoint) Name() string { return e.name }

// OnHost implements platform.Endpoint.
func (e *endpoint) OnHost() string { return e.host }

// Facts implements platform.Endpoint.
func (e *endpoint) Facts() platform.Facts {
	return platform.Facts{NetNS: e.NetNS(), Around: platform.Surroundings{Outlive: !Inside()}}
}

// NetNS returns a path to its network namespace.
func (e *endpoint) NetNS() string { return e.ns.Path() }

// Start implements platform.Endpoint. The process ends with the lab at the latest.
func (e *endpoint) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	return nsexec.Start(ctx, e.name, e.NetNS(), environ(), c)
}

// environ returns the environment without the marks of the process inside, so that nettoll can be run in a lab's
// shell.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, insideEnv+"=") || strings.HasPrefix(kv, firstEnv+"=")
	})
}

// host is a namespace on the underlay.
type host struct {
	endpoint
	site  *site
	index int
	next  int // number of the last container
}

// Uplink implements platform.Host.
func (h *host) Uplink() platform.Uplink { return uplink(h.index, h.site.mtu) }

// Containers implements platform.Host.
func (h *host) Containers(ctx context.Context, n int) ([]platform.Endpoint, error) {
	all, err := h.site.namespace(ctx, n, func() error { return nl.UpHere("lo") })
	if err != nil {
		return nil, fmt.Errorf("lab: %s: make %d containers: %w", h.name, n, err)
	}
	return record.Each(all, func(ns *netns.NS) platform.Endpoint { return h.container(ns) }), nil
}

// Facts implements platform.Endpoint.
func (h *host) Facts() platform.Facts {
	f := h.endpoint.Facts()
	f.Share, f.Leaves = h.share, leaves
	return f
}

// share makes a container in the namespace of another: see platform.Facts.
func (h *host) share(_ context.Context, with platform.Endpoint) (platform.Endpoint, error) {
	e, ok := with.(*endpoint)
	if !ok {
		return nil, fmt.Errorf("lab: %s is not a container of this lab", with.Name())
	}
	return h.container(e.ns), nil
}

func (h *host) container(ns *netns.NS) *endpoint {
	h.next++
	return &endpoint{name: fmt.Sprintf("%sc%d", h.name, h.next), host: h.name, ns: ns}
}

// addRules gives the host n firewall rules for each IP version, applied to packets that it receives and that it
// forwards. Each looks at the destination, as the rules of a service do, and none matches: the addresses are in
// 240.0.0.0/4 (RFC 1112, section 4), which is not in use, and in a subnet of 2001:2::/48 that no lab uses.
func (h *host) addRules(ctx context.Context, n int) error {
	fw, err := nft.New(h.NetNS(), "further-rules")
	if err != nil {
		return err
	}
	defer fw.Close()
	four, six := fw.Chain("SERVICES4"), fw.Chain("SERVICES6")
	for _, base := range []nft.Chain{fw.BaseChain("INPUT", nft.Input, false), fw.BaseChain("FORWARD", nft.Forward, false)} {
		base.Rule(nft.From(netip.PrefixFrom(netip.IPv4Unspecified(), 0)), nft.Jump(four))
		base.Rule(nft.From(netip.PrefixFrom(netip.IPv6Unspecified(), 0)), nft.Jump(six))
	}
	for k := range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a4, a6 := nobody(k)
		four.Filler(nft.To(netip.PrefixFrom(a4, a4.BitLen())), nft.Drop())
		six.Filler(nft.To(netip.PrefixFrom(a6, a6.BitLen())), nft.Drop())
	}
	return fw.Commit()
}

// nobody returns the k-th pair of addresses that are not in use.
func nobody(k int) (netip.Addr, netip.Addr) {
	a4, a6 := [4]byte{240}, [16]byte{0x20, 0x01, 0, 2, 6: 0xff, 7: 0xfe}
	binary.BigEndian.PutUint16(a4[1:], uint16(k>>8))
	a4[3] = byte(k)
	binary.BigEndian.PutUint32(a6[12:], uint32(k))
	return netip.AddrFrom4(a4), netip.AddrFrom16(a6)
}
