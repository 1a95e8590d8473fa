package ovs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// named returns the variant of that name, and requires that it can be built here.
func named(t *testing.T, name string) variant {
	t.Helper()
	all := variants(nil)
	i := slices.IndexFunc(all, func(v variant) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	_, err := daemon.Find(nil, programs...)
	platformtest.Require(t, "ovs-vswitchd", err)
	iferr.Fatal(t, all[i].driver().Probe(t.Context(), lab.New()))
	return all[i]
}

// on builds a network on a platform.
func (v variant) on(t *testing.T, topo network.Topology, p platform.Platform) (*build, error) {
	t.Helper()
	n, err := v.recipe().Lay(t.Context(), topo, p)
	if err != nil {
		return nil, err
	}
	b, err := v.build(t.Context(), n)
	if err != nil {
		return nil, n.Abandon(t.Context(), err)
	}
	return b, nil
}

// built returns a network of the variant with one pair.
func built(t *testing.T, v variant, under platform.Underlay) *build {
	t.Helper()
	b, err := v.on(t, network.Topology{Hosts: v.Hosts[0], Servers: 1, Clients: 1, Underlay: under}, lab.New())
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, b.Close(context.Background())) })
	return b
}

func TestDaemonThatDiesIsAFault(t *testing.T) {
	for index, name := range []string{"ovsdb-server", "ovs-vswitchd"} {
		b := built(t, named(t, "ovs-userspace"), platform.Underlay{})
		n := b.Standing()
		iferr.Fatal(t, n.Fault(t.Context()))
		if remarks := n.Remarks(network.IPv4); len(remarks) > 0 {
			t.Errorf("a network that is well says %q", remarks)
		}
		d := b.Needed[index]
		iferr.Fatal(t, unix.Kill(d.PID(), syscall.SIGKILL))
		_ = d.Wait()
		for over := time.Now().Add(time.Minute); d.Fault() == nil && time.Now().Before(over); {
			time.Sleep(time.Millisecond)
		}
		want := name + " on h1 ended (signal: killed): its log ends with: "
		if err := n.Fault(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDatapathThatWasNotAskedForIsAWrongPath(t *testing.T) {
	b := built(t, named(t, "ovs-userspace"), platform.Underlay{})
	b.tech.datapath = kernel // the bridge is in the other datapath, as if Open vSwitch had fallen back
	var wrong *network.WrongPath
	want := "br0 on h1: the datapath is netdev instead of system"
	if err := b.Standing().Fault(t.Context()); !errors.As(err, &wrong) || wrong.Finding != want {
		t.Errorf("%v, want %q", err, want)
	}
	b.tech.datapath = userspace
	iferr.Fatal(t, b.vswitches[0].vsctl(t.Context(), "--", "del-br", bridge))
	want = "br0 on h1: the bridge is in no datapath"
	if err := b.Standing().Fault(t.Context()); !errors.As(err, &wrong) || wrong.Finding != want {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestUnknownDatapathIsRefused(t *testing.T) {
	v := named(t, "ovs-userspace")
	v.datapath = "nonsense"
	b, err := v.on(t, network.Topology{Hosts: 1, Servers: 1, Clients: 1}, lab.New())
	if err == nil {
		t.Fatal(b.Close(context.Background()))
	}
	for _, want := range []string{"ovs-vsctl on h1", "Error detected while setting up 'br0'", "unknown datapath type nonsense"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestContainerWithoutSegmentationIsAWrongPath(t *testing.T) {
	b := built(t, named(t, "ovs-userspace"), platform.Underlay{})
	var wrong *network.WrongPath
	if err := segments(b.Servers[0]); !errors.As(err, &wrong) {
		t.Errorf("a device without offloads passes for one with them: %v", err)
	}
	tso := built(t, named(t, "ovs-userspace-tso"), platform.Underlay{})
	iferr.Error(t, segments(tso.Servers[0]))
}

// The queueing disciplines of the uplinks shape the underlay. Open vSwitch would remove them.
func TestUplinkKeepsItsShape(t *testing.T) {
	b := built(t, named(t, "ovs-userspace-vxlan"), platform.Underlay{Rate: 100e6})
	for _, h := range b.Hosts {
		err := nl.With(h.NS, func(n *nl.NS) error {
			l, err := n.Link(h.Uplink().Device)
			if err != nil {
				return err
			}
			kind, err := n.RootQdisc(l)
			if kind != "tbf" {
				t.Errorf("%s of %s is shaped by %s", h.Uplink().Device, h.Name(), kind)
			}
			return err
		})
		iferr.Error(t, err)
	}
}

func TestQuestionThatIsRefused(t *testing.T) {
	b := built(t, named(t, "ovs-userspace"), platform.Underlay{})
	v := b.vswitches[0]
	for want, args := range map[string][]string{
		`bridge/dump-flows: refused: Unknown bridge`:      {"bridge/dump-flows", "br7"},
		`no-such: refused: "no-such" is not a valid comm`: {"no-such"},
	} {
		if _, err := ask(t.Context(), v.control(), args[0], args[1:]...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := ask(t.Context(), v.control()+"x", "version"); err == nil {
		t.Error("a socket that is not there has answered")
	}
}

func TestMissingProgramSaysHowToGetIt(t *testing.T) {
	missing := (*platform.Unsupported)(nil)
	err := All(program.Paths{"ovs-vswitchd": "/nowhere/ovs-vswitchd"})[3].Probe(t.Context(), lab.New())
	if !errors.As(err, &missing) || missing.Remedy != "apt install openvswitch-switch, or give its path with --tool-path ovs-vswitchd=FILE" {
		t.Error(err)
	}
}

// Even an Open vSwitch that has died leaves nothing behind, and hosts get their addresses back.
func TestDeadDaemonLeavesNothing(t *testing.T) {
	for _, name := range []string{"ovs-userspace-tso", "ovs-userspace-vxlan"} {
		t.Run(name, func(t *testing.T) { dies(t, named(t, name)) })
	}
}

func dies(t *testing.T, v variant) {
	count := v.Hosts[0]
	on, hosts := networktest.Keep(t, lab.New(), count)
	before := networktest.State(t, hosts.All()...)
	b, err := v.on(t, network.Topology{Hosts: count, Servers: 1, Clients: 1}, on)
	iferr.Fatal(t, err)
	if with := networktest.State(t, hosts.All()...); slices.Equal(with, before) {
		t.Errorf("a network has changed nothing: %q", with)
	}
	server := b.Servers[0].NS
	iferr.Fatal(t, unix.Kill(b.vswitches[0].daemon.PID(), syscall.SIGKILL))
	// At once, while its end may not be known yet.
	iferr.Error(t, b.Close(context.Background()))
	networktest.Same(t, "after ovs-vswitchd has died", before, networktest.State(t, hosts.All()...))
	if inside, err := nltest.Inventory(server); err != nil || strings.Contains(inside, "eth0") {
		t.Errorf("in the container: %v\n%s", err, inside)
	}
}
