package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/process"
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

// install starts an engine as a user's machine has it: in the namespaces of this test,
// which stand for the machine, with what Debian starts it with and further arguments.
func install(t *testing.T, args ...string) dial {
	t.Helper()
	platformtest.Require(t, "dockerd", engine.Available())
	if err := nl.With("", func(n *nl.NS) error { return n.Up("lo") }); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	var said process.Tail
	const borrowedGroup = "borrowed"
	hold := engine.HoldCgroup(borrowedGroup) // or nettoll clean would take it
	proc, err := process.Start(t.Context(), "engine", "", os.Environ(), platform.Command{
		Path: "dockerd", Stdout: &said, Stderr: &said,
		Args: append([]string{
			"--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"), "--host", "unix://" + at("socket"),
			"--cgroup-parent", "/nettoll-" + borrowedGroup, "--log-level", "warn",
		}, args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Kill(proc.PID(), unix.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := proc.Wait(); err != nil {
			t.Error(err)
		}
		hold.Close()
		_, _ = engine.SweepCgroups(borrowedGroup)
		// An engine leaves its rules, by which the next would be taken for one that keeps some.
		for _, table := range []string{"filter", "nat"} {
			for _, what := range []string{"--flush", "--delete-chain"} {
				iptables, err := process.Start(context.Background(), "machine", "", os.Environ(), platform.Command{
					Path: "iptables", Args: []string{"--wait", "--table", table, what},
				})
				if err == nil {
					err = iptables.Wait()
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	dial := func(ctx context.Context) (*client.Client, bool, error) {
		c, err := client.New(client.WithHost("unix://" + at("socket")))
		if err == nil {
			_, err = c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
		}
		return c, true, err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, _, err := dial(t.Context())
		if c != nil {
			c.Close()
		}
		if err == nil {
			return dial
		}
		if time.Now().After(deadline) {
			t.Fatalf("dockerd does not answer: %v: %s", err, said.String())
		}
	}
}

// machine is the engine's host, to be looked at.
func machine(t *testing.T, d dial) *engine.Host {
	t.Helper()
	c, here, err := d(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := engine.NewEngine(c, "fedcba9876543210", engine.Image{})
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return engine.Borrow(e, 0, here)
}

// byName finds one of Docker's networks.
func byName(t *testing.T, name string) network.Driver {
	t.Helper()
	all := docker.All()
	i := slices.IndexFunc(all, func(tech network.Driver) bool { return tech.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

// TestBorrowedEngine measures on an engine that is the user's own, and wants the machine
// to be after it as it was before.
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
		for what, topo := range map[string]network.Topology{
			"rules": {Hosts: 1, Rules: 1}, "mtu": {Hosts: 1, Underlay: platform.Underlay{MTU: 9000}}, "another host": {Hosts: 2},
		} {
			topo.Servers, topo.Clients = 1, 1
			t.Run(what, func(t *testing.T) { refused(t, p, byName(t, "bridge"), topo) })
		}
	})
	networktest.Same(t, "when all was measured", before, networktest.State(t, host))
}

// onMachine wants trials over both families to be good. On an engine as it is installed
// there are networks that have no IPv6, and they say what would fix it.
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

// refused wants a network not to be built where it would change the machine, and to be
// told what would fix it.
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

// hasDummy says whether the kernel has the device that engines make a parent of.
func hasDummy(t *testing.T) bool {
	t.Helper()
	ns, err := netns.New(t.Context(), 1, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer ns[0].Close()
	return nl.With(ns[0].Path(), func(n *nl.NS) error {
		return n.Add(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "parent"}})
	}) == nil
}

// TestBorrowedEngineWithoutRules has docker-proxy alone serve a published port. The rule
// that proves it elsewhere would change the machine.
func TestBorrowedEngineWithoutRules(t *testing.T) {
	d := install(t, "--iptables=false")
	host := machine(t, d)
	p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
	onMachine(t, p, byName(t, "published"))
	n, err := byName(t, "published").Connect(t.Context(), network.Topology{Hosts: 1, Servers: 1, Clients: 1}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range networktest.State(t, host) {
		if strings.Contains(l, "table nettoll") {
			t.Errorf("on the machine there is: %s", l)
		}
	}
	if len(n.Daemons) == 0 {
		t.Error("no docker-proxy is said to carry the payload")
	}
	if notes := n.Remarks(); !slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "not proved") }) {
		t.Errorf("the remarks %q do not say what is not proved", notes)
	}
	// The proxy would let in whoever has a route to the engine's bridge.
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		if a, err := n.Addr(n.Clients[0], n.Servers[0], f); err == nil && !a.IsLoopback() || err != nil && f == network.IPv4 {
			t.Errorf("the port is published at %v, %v; want loopback", a, err)
		}
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
