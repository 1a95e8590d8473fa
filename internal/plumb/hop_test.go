package plumb_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

const lasts = 100 * time.Millisecond

func TestHopsShareAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r plumb.Reading[int]
		times := 0
		get := func() int {
			t.Helper()
			got, err := r.Get(t.Context(), lasts, func(context.Context) (int, error) {
				times++
				time.Sleep(2 * lasts) // a slow reading is shared, too
				return times, nil
			})
			iferr.Fatal(t, err)
			return got
		}
		for range 3 {
			if got := get(); got != 1 {
				t.Errorf("reading %d, want the first", got)
			}
		}
		time.Sleep(lasts)
		if got := get(); got != 2 {
			t.Errorf("reading %d, want the second: the first is old", got)
		}
	})
}

func TestReadingThatFailsIsNotKept(t *testing.T) {
	var r plumb.Reading[int]
	broken := errors.New("no such table")
	_, err := r.Get(t.Context(), lasts, func(context.Context) (int, error) { return 0, broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	got, err := r.Get(t.Context(), lasts, func(context.Context) (int, error) { return 1, nil })
	if err != nil || got != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestHopOfAnEndpointThatIsNotSeen(t *testing.T) {
	_, err := (&plumb.Node{Endpoint: place{}, Device: "eth0"}).Hop().Read(t.Context())
	if err == nil || err.Error() != "c: its devices cannot be read: its network namespace is not known" {
		t.Error(err)
	}
}

// reader is an agent that has read a device.
type reader sampler.Counted

// Call implements network.Agent.
func (r reader) Call(_ context.Context, _ string, _, out any) error {
	*out.(*sampler.Counted) = sampler.Counted(r)
	return nil
}

// TestHopHasAllThatADeviceCounts has the counts of a device in a list, or from an agent, which alone knows what IP has received.
func TestHopHasAllThatADeviceCounts(t *testing.T) {
	device := nl.Interface{Name: "eth0", Kind: "veth", Index: 1, Peer: 2, Home: 3, Master: 4, MTU: 5, Packets: 6, Bytes: 7, In: 8, InBytes: 9}
	listed := network.Count{Packets: 6, Bytes: 7, InPackets: 8, InBytes: 9, MTU: 5, At: network.Joint{Kind: "veth", Index: 1, Peer: 2, Home: 3, Master: 4}}
	asked := listed
	asked.IP = 10
	list := func(context.Context) ([]nl.Interface, error) { return []nl.Interface{{Name: "lo"}, device}, nil }
	agent := reader{Interface: device, IP: 10}
	for name, c := range map[string]struct {
		from plumb.Devices
		want network.Count
	}{
		"listed": {plumb.Devices{List: list}, listed}, "asked": {plumb.Devices{Agent: agent}, asked},
		"both": {plumb.Devices{List: list, Agent: agent}, listed}, "both, and by IP": {plumb.Devices{List: list, Agent: agent, ByIP: true}, asked},
	} {
		if got, err := c.from.Hop("h1c1", "eth0").Read(t.Context()); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

// called is a host, or a container, with a name. A host may have an uplink.
type called struct {
	platform.Host
	name, uplink string
}

func (c called) Name() string            { return c.name }
func (c called) Uplink() platform.Uplink { return platform.Uplink{Device: c.uplink} }

// pathOf returns the names of hops, and which of them must not be crossed.
func pathOf(hops []network.Hop) []string {
	return record.Each(hops, func(h network.Hop) string { return map[bool]string{true: "not "}[h.Absent] + h.Name })
}

// TestPathsBetweenContainers checks that a path has every device on it, and which of them must not be crossed. Networks can share
// devices of hosts, which are known by their names, and not those of containers.
func TestPathsBetweenContainers(t *testing.T) {
	one, two := &plumb.Host{Host: called{name: "h1", uplink: "up0"}}, &plumb.Host{Host: called{name: "h2", uplink: "up0"}}
	on := func(h *plumb.Host, name string) *plumb.Node {
		return &plumb.Node{Endpoint: called{name: name}, Host: h, Device: "eth0", Port: "veth-" + name}
	}
	side := func(at *plumb.Node, peer *plumb.Host, _ network.Family) []network.Hop {
		if peer == at.Host {
			return []network.Hop{at.Host.Hop("br0", "bridge")}
		}
		return []network.Hop{at.Host.Hop("br0", "bridge"), at.Host.Hop("vxlan0", "vxlan")}
	}
	for _, c := range []struct {
		to   *plumb.Node
		want []string
	}{
		{on(two, "b"), []string{"a/eth0", "h1/veth-a", "h1/br0", "h1/vxlan0", "h1/up0", "h2/up0", "h2/vxlan0", "h2/br0", "h2/veth-b", "b/eth0"}},
		{on(one, "b"), []string{"a/eth0", "h1/veth-a", "h1/br0", "not h1/up0", "h1/br0", "h1/veth-b", "b/eth0"}},
	} {
		hops := plumb.Common(plumb.Across(side))(on(one, "a"), c.to, network.IPv4)
		for _, h := range hops {
			if !h.Common {
				t.Errorf("%s is not said to be one that others use, too", h.Name)
			}
			if shared := h.Device == h.Name; shared != strings.HasPrefix(h.Name, "h") || !shared && h.Device != "" {
				t.Errorf("%s is known as %q", h.Name, h.Device)
			}
		}
		if got := pathOf(hops); !slices.Equal(got, c.want) {
			t.Errorf("to %s: %v, want %v", c.to.Host.Name(), got, c.want)
		}
	}
}

// TestPathsBetweenHosts has processes of hosts: what they send to their own host crosses its lo, and not its uplink, if it has one.
func TestPathsBetweenHosts(t *testing.T) {
	on := func(name, uplink string) *plumb.Node {
		return &plumb.Node{Host: &plumb.Host{Host: called{name: name, uplink: uplink}}}
	}
	one, two, alone := on("h1", "up0"), on("h2", "up0"), on("h3", "")
	for _, c := range []struct {
		from, to *plumb.Node
		want     []string
	}{
		{one, two, []string{"h1/up0", "h2/up0"}},
		{one, one, []string{"h1/lo", "not h1/up0"}},
		{alone, alone, []string{"h3/lo"}},
	} {
		if got := pathOf(plumb.HostHops(c.from, c.to, network.IPv4)); !slices.Equal(got, c.want) {
			t.Errorf("from %s to %s: %v, want %v", c.from.Host.Name(), c.to.Host.Name(), got, c.want)
		}
	}
}

// TestHopOfSeveralRules has datagrams meet one rule or the other: together they prove the path.
func TestHopOfSeveralRules(t *testing.T) {
	all, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	defer all[0].Close()
	ns := all[0].Path()
	iferr.Fatal(t, nl.With(ns, func(n *nl.NS) error { return n.Up("lo") }))
	fw, err := nft.New(ns, "tested")
	iferr.Fatal(t, err)
	defer fw.Close()
	rule := func(port int) nft.Rule {
		c := fw.BaseChain(fmt.Sprint("to-", port), nft.Input, false)
		return c.Rule(nft.Ports(unix.IPPROTO_UDP, port, port), nft.Return())
	}
	hop := plumb.RuleHop(&plumb.Host{Host: called{name: "h1"}}, "rule of two", network.Rule, rule(20001), rule(20002))
	iferr.Fatal(t, fw.Commit())
	for port, times := range map[int]int{20001: 1, 20002: 2, 20003: 4} {
		for range times {
			iferr.Fatal(t, netns.Do(ns, func() error {
				conn, err := net.Dial("udp4", fmt.Sprint("127.0.0.1:", port))
				if err != nil {
					return err
				}
				defer conn.Close()
				_, _ = conn.Write(make([]byte, 100)) // refused, since nothing listens there, after it has met the rules
				return nil
			}))
		}
	}
	const each = 20 + 8 + 100
	if got, err := hop.Read(t.Context()); err != nil || got.Packets != 3 || got.Bytes != 3*each {
		t.Errorf("%+v, %v, want 3 packets of %d bytes", got, err, each)
	}
	if hop.Name != "h1/rule-of-two" {
		t.Error(hop.Name)
	}
}
