package docker_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"github.com/vishvananda/netlink"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/docker"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// dial connects to an engine on this machine.
type dial func(context.Context) (c *client.Client, here bool, err error)

// install starts an engine as a user's machine runs it: in the namespaces of this test, which stand
// for the machine, with Debian's arguments and further ones.
func install(t *testing.T, args ...string) dial {
	t.Helper()
	t.Cleanup(func() {
		// An engine leaves its rules behind, which would make the next one look like one that keeps
		// rules, and drops what it does not know.
		for _, what := range []string{"--flush", "--delete-chain", "--policy FORWARD ACCEPT", "--table nat --flush", "--table nat --delete-chain"} {
			if out, err := exec.Command("iptables", append([]string{"--wait"}, strings.Fields(what)...)...).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	e := dockertest.Start(t, "", args...)
	return func(ctx context.Context) (*client.Client, bool, error) {
		c, err := e.Dial(ctx)
		return c, true, err
	}
}

// machine returns the engine's host, for inspection.
func machine(t *testing.T, d dial) *engine.Host {
	t.Helper()
	c, here, err := d(t.Context())
	iferr.Fatal(t, err)
	e := engine.NewEngine(c, "fedcba9876543210", engine.Image{})
	t.Cleanup(func() { iferr.Error(t, e.Close(context.Background())) })
	return engine.Borrow(e, 0, here)
}

// byName returns one of Docker's networks.
func byName(t *testing.T, name string) network.Driver {
	t.Helper()
	all := docker.All()
	i := slices.IndexFunc(all, func(tech network.Driver) bool { return tech.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

// TestBorrowedEngine measures on a user's own engine, and checks that the machine is the same
// afterwards.
func TestBorrowedEngine(t *testing.T) {
	d := install(t)
	host := machine(t, d)
	before := networktest.State(t, host)
	t.Run("measured", func(t *testing.T) {
		p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
		for _, tech := range []network.Driver{
			byName(t, "native"), byName(t, "host"), byName(t, "container"), byName(t, "bridge"), byName(t, "user-bridge"),
			byName(t, "link"), byName(t, "published"), kernel.Veth(),
		} {
			t.Run(tech.Name, func(t *testing.T) { onMachine(t, p, tech) })
		}
		for _, tech := range []network.Driver{
			byName(t, "bridge-noiptables"), byName(t, "link-noicc"), byName(t, "published-proxy"),
			kernel.PipeworkVeth(), kernel.PipeworkMacvlan(), kernel.IPTables(),
		} {
			t.Run(tech.Name, func(t *testing.T) { refused(t, p, tech, network.Topology{Hosts: 1, Servers: 1, Clients: 1}) })
		}
		t.Run("macvlan", func(t *testing.T) {
			if tech := byName(t, "macvlan"); hasDummy(t) {
				onMachine(t, p, tech)
			} else {
				refused(t, p, tech, network.Topology{Hosts: 1, Servers: 1, Clients: 1})
			}
		})
		for _, name := range []string{"native", "host"} {
			t.Run(name+" on lo", func(t *testing.T) { onCommonDevices(t, p, byName(t, name)) })
		}
		for what, topo := range map[string]network.Topology{
			"rules": {Hosts: 1, Setup: record.Setup{Rules: 1}}, "mtu": {Hosts: 1, Underlay: platform.Underlay{MTU: 9000}}, "another host": {Hosts: 2},
		} {
			topo.Servers, topo.Clients = 1, 1
			t.Run(what, func(t *testing.T) { refused(t, p, byName(t, "bridge"), topo) })
		}
	})
	networktest.Same(t, "when all was measured", before, networktest.State(t, host))
}

// onCommonDevices checks that the path of processes of the machine is one that others use, too: what these send over lo in the turns
// of another network is not that network's payload.
func onCommonDevices(t *testing.T, p platform.Platform, tech network.Driver) {
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, p)
	iferr.Fatal(t, err)
	for _, h := range n.Path(n.Clients[0], n.Servers[0], network.IPv4) {
		if !h.Common {
			t.Errorf("%s is taken for the network's own", h.Name)
		}
	}
	iferr.Error(t, n.Close(t.Context()))
}

// onMachine checks that trials over both families are good. On an engine as installed, some
// networks have no IPv6, and must report what would fix it.
func onMachine(t *testing.T, p platform.Platform, tech network.Driver) {
	four := []string{"container", "bridge", "user-bridge", "link", "published"}
	var cells []record.Cell
	for _, family := range []int{4, 6} {
		cells = append(cells, record.Cell{
			Network: "docker:" + tech.Name, Hosts: 1, Family: family, Servers: 1, Clients: 2,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		})
	}
	for _, trial := range networktest.Measure(t, p, tech, cells) {
		switch without := trial.Cell.Family == 6 && slices.Contains(four, tech.Name); {
		case without && (trial.Status != record.Skipped || !strings.Contains(trial.Remedy, "--private-engine")):
			t.Errorf("%s: %s: %s; %s", trial.Cell.Key(), trial.Status, trial.Reason, trial.Remedy)
		case !without && trial.Status != record.OK:
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
		}
	}
}

// refused checks that a network that would change the machine is not built, and that the error says
// what would fix it.
func refused(t *testing.T, p platform.Platform, tech network.Driver, topo network.Topology) {
	n, err := tech.Connect(t.Context(), topo, p)
	if err == nil {
		n.Close(t.Context())
		t.Fatal("it was built")
	}
	var missing *platform.Unsupported
	if !errors.As(err, &missing) || !strings.Contains(missing.Remedy, "--private-engine") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: want one line, and a remedy with --private-engine", err)
	}
}

// hasDummy reports whether the kernel has the device that engines use as a parent.
func hasDummy(t *testing.T) bool {
	t.Helper()
	ns, err := netns.New(t.Context(), 1, func() error { return nil })
	iferr.Fatal(t, err)
	defer ns[0].Close()
	return nl.With(ns[0].Path(), func(n *nl.NS) error {
		return n.Add(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "parent"}})
	}) == nil
}

// TestBorrowedEngineWithoutRules has docker-proxy alone serve a published port. The rule that
// proves this elsewhere would change the machine.
func TestBorrowedEngineWithoutRules(t *testing.T) {
	d := install(t, "--iptables=false")
	host := machine(t, d)
	p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
	onMachine(t, p, byName(t, "published"))
	n, err := byName(t, "published").Connect(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, p)
	iferr.Fatal(t, err)
	for _, l := range networktest.State(t, host) {
		if strings.Contains(l, "table nettoll") {
			t.Errorf("on the machine there is: %s", l)
		}
	}
	if len(n.Daemons) == 0 || !n.Relays {
		t.Errorf("no docker-proxy is said to carry the payload, or to make connections of its own: %v, %v", n.Daemons, n.Relays)
	}
	if !slices.ContainsFunc(n.Unproved, func(s string) bool { return strings.Contains(s, "not proved that docker-proxy") }) {
		t.Errorf("%q does not say what is not proved", n.Unproved)
	}
	// The proxy would accept packets from anyone with a route to the engine's bridge.
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		if a, err := n.Addr(n.Clients[0], n.Servers[0], f); err == nil && !a.IsLoopback() || err != nil && f == network.IPv4 {
			t.Errorf("the port is published at %v, %v; want loopback", a, err)
		}
	}
	iferr.Error(t, n.Close(t.Context()))
}

// TestBorrowedEngineWithNFTables measures on a user's engine that keeps its rules in tables of nftables: the connections to a
// published port are those that the engine's own rules have counted.
func TestBorrowedEngineWithNFTables(t *testing.T) {
	s := engine.Settings{NFTables: true}
	platformtest.Require(t, "dockerd-nftables", s.Supported(t.Context()))
	iferr.Fatal(t, netns.SetSysctl("/proc/self/ns/net", "net/ipv4/ip_forward", "1")) // such an engine does not
	d := install(t, s.String())
	t.Cleanup(func() {
		for _, family := range []string{"ip", "ip6"} {
			if out, err := exec.Command("nft", "delete", "table", family, "docker-bridges").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	host := machine(t, d)
	before := networktest.State(t, host)
	t.Run("measured", func(t *testing.T) {
		p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
		for _, name := range []string{"bridge", "published"} {
			t.Run(name, func(t *testing.T) { onMachine(t, p, byName(t, name)) })
		}
		n, err := byName(t, "published").Connect(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, p)
		iferr.Fatal(t, err)
		path := n.Path(n.Clients[0], n.Servers[0], network.IPv4)
		if !slices.ContainsFunc(path, func(h network.Hop) bool { return h.Kind == network.Connection }) || len(n.Unproved) > 0 {
			t.Errorf("no rule is in the path %v, and %q is not proved", path, n.Unproved)
		}
		iferr.Error(t, n.Close(t.Context()))
	})
	networktest.Same(t, "when all was measured", before, networktest.State(t, host))
}
