package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/network"
	"nettoll/network/docker"
	"nettoll/network/networktest"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// swarms returns the platform of private swarms, which tests share, since forming one takes longer than
// measuring in it.
func swarms(t *testing.T) *platforms.Docker {
	t.Helper()
	platformtest.Require(t, "dockerd", engine.Available())
	p, err := shared()
	iferr.Fatal(t, err)
	return p
}

var (
	started atomic.Bool
	shared  = sync.OnceValues(func() (*platforms.Docker, error) {
		p, err := newSwarms()
		started.Store(err == nil)
		return p, err
	})
)

// newSwarms returns a platform of private swarms whose image holds this test program, which serves as the agent.
func newSwarms() (*platforms.Docker, error) {
	agent, err := rootfs.Agent()
	if err != nil {
		return nil, err
	}
	image, err := rootfs.New(agent)
	if err != nil {
		return nil, err
	}
	return platforms.NewSwarm(platforms.Options{Run: "0123456789abcdef", Image: engine.Image{Root: image}, Lab: lab.New()}), nil
}

// ownSwarms returns a platform of private swarms for a test that breaks them. Such a test mostly waits until the fault is
// noticed, so it runs in parallel with others.
func ownSwarms(t *testing.T) *platforms.Docker {
	t.Helper()
	besideOthers(t)
	platformtest.Require(t, "dockerd", engine.Available())
	p, err := newSwarms()
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	return p
}

// besideOthers runs a test that has engines of its own in parallel with others, except on an emulated machine.
func besideOthers(t *testing.T) {
	t.Helper()
	if !networktest.Slow(t) {
		t.Parallel()
	}
}

// endSwarms stops the private swarms, if a test has used any.
func endSwarms() error {
	if !started.Load() {
		return nil
	}
	p, err := shared()
	if err != nil {
		return err
	}
	return p.Close(context.Background())
}

// inSwarm returns a network by its name.
func inSwarm(t *testing.T, name string) network.Driver {
	t.Helper()
	for _, tech := range docker.Swarm() {
		if tech.Name == name {
			return tech
		}
	}
	t.Fatalf("no network %s", name)
	return network.Driver{}
}

// cells returns the cells that are measured of a network: several servers, more clients, in
// streams, transactions and datagrams.
func cells(t *testing.T, name string, hosts int) (all []record.Cell) {
	topo := topology(t, hosts)
	for _, load := range []string{record.TCPStream, record.TCPRR, record.UDPRR} {
		all = append(all, record.Cell{
			Network: "swarm:" + name, Hosts: hosts, Family: 4, Servers: topo.Servers, Clients: topo.Clients, Setup: topo.Setup,
			Tool: "engine", Workload: load, Placement: record.PlacementFree,
		})
	}
	return all
}

// topology has pairs that share servers, except on an emulated machine.
func topology(t *testing.T, hosts int) network.Topology {
	if networktest.Slow(t) {
		return network.Topology{Hosts: hosts, Servers: 1, Clients: 1}
	}
	return network.Topology{Hosts: hosts, Servers: 2, Clients: 3, Setup: record.Setup{Neighbours: 1}}
}

// hops returns the names of hops that the payload had to cross or, if absent, must not have
// crossed.
func hops(trial record.Trial, absent bool) string {
	var names []string
	for _, h := range trial.Path {
		if h.Absent == absent {
			names = append(names, h.Name)
		}
	}
	return " " + strings.Join(names, " ") + " "
}

// measured measures cells of a network, all of which must be good.
func measured(t *testing.T, p platform.Platform, name string, hosts int) []record.Trial {
	t.Helper()
	trials := networktest.Measure(t, p, inSwarm(t, name), cells(t, name, hosts))
	for _, trial := range trials {
		if trial.Status != record.OK {
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
		}
		for _, h := range trial.Path {
			t.Logf("%s: %+v", trial.Cell.Workload, h)
		}
	}
	return trials
}

func TestOverlay(t *testing.T) {
	p := swarms(t)
	for _, hosts := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("hosts=%d", hosts), func(t *testing.T) {
			if hosts > 2 {
				turn.Alternate(t, 0)
			}
			for _, trial := range measured(t, p, "overlay", hosts) {
				must, mustNot := hops(trial, false), hops(trial, true)
				want, in := []string{"h1/vxlan-overlay", "h1/eth0"}, mustNot
				if hosts > 1 {
					want, in = append(want, "h2/vxlan-overlay", "h2/eth0"), must
				}
				for _, hop := range want {
					if !strings.Contains(in, " "+hop+" ") {
						t.Errorf("%s: crossed%s, not%s: %s is not where it belongs", trial.Cell.Key(), must, mustNot, hop)
					}
				}
			}
			if hosts == 2 {
				leavesNothing(t, p, "overlay", hosts)
			}
			leavesNothingNow(t, p, hosts)
		})
	}
}

// TestPage compares the page of the overlay with the network as built now.
func TestPage(t *testing.T) { networktest.Page(t, swarms(t), "swarm:", inSwarm(t, "overlay")) }

// leavesNothing builds a network, takes it down, and checks that nothing of it remains on the
// nodes.
func leavesNothing(t *testing.T, p *platforms.Docker, name string, hosts int) {
	t.Helper()
	kept, err := p.Hosts(t.Context(), platform.HostRequest{Count: hosts})
	iferr.Fatal(t, err)
	if err := kept.Close(t.Context()); err != nil { // the network is built on these hosts
		t.Fatal(err)
	}
	n, err := inSwarm(t, name).Connect(t.Context(), topology(t, hosts), p)
	iferr.Fatal(t, err)
	if !givenUp(t, kept) && len(labelled(t, kept)) == 0 {
		t.Error("nothing carries the label while the network is there")
	}
	for range 2 { // closing twice must do no harm
		iferr.Error(t, n.Close(t.Context()))
	}
	if givenUp(t, kept) {
		return
	}
	if left := labelled(t, kept); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, ", "))
	}
}

// givenUp reports whether a private swarm was given up, with its engines, since an emulated machine was too slow for the
// bounds of what is asked of it.
func givenUp(t *testing.T, hosts platform.Hosts) bool {
	t.Helper()
	if !networktest.Slow(t) {
		return false
	}
	_, err := hosts.(*engine.Hosts).Swarm.Manager.Engine.Client.Ping(t.Context(), client.PingOptions{})
	if err != nil {
		t.Logf("the engines were ended: %v", err)
	}
	return err != nil
}

// labelled lists the objects of a swarm and its engines that carry nettoll's label, except images.
func labelled(t *testing.T, hosts platform.Hosts) (all []string) {
	t.Helper()
	ours := make(client.Filters).Add("label", engine.Label)
	for _, h := range hosts.All() {
		c := h.(*engine.Host).Engine.Client
		containers, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: ours})
		iferr.Fatal(t, err)
		for _, o := range containers.Items {
			if _, err := c.ContainerInspect(t.Context(), o.ID, client.ContainerInspectOptions{}); cerrdefs.IsNotFound(err) {
				continue // one that has been removed is listed for a moment
			}
			all = append(all, h.Name()+": container "+strings.Join(o.Names, " "))
		}
		networks, err := c.NetworkList(t.Context(), client.NetworkListOptions{Filters: ours})
		iferr.Fatal(t, err)
		for _, o := range networks.Items {
			all = append(all, h.Name()+": network "+o.Name)
		}
	}
	manager := hosts.(*engine.Hosts).Swarm.Manager
	services, err := manager.Engine.Client.ServiceList(t.Context(), client.ServiceListOptions{Filters: ours})
	iferr.Fatal(t, err)
	for _, o := range services.Items {
		all = append(all, "service "+o.Spec.Name)
	}
	return all
}

func TestEncryptedOverlay(t *testing.T) {
	p := swarms(t)
	t.Run("hosts=2", func(t *testing.T) {
		encrypted(t, p)
		leavesNothingNow(t, p, 2)
	})
	t.Run("hosts=1", func(t *testing.T) { measured(t, p, "overlay-encrypted", 1) })
}

// encrypted measures between two nodes, where the kernel must encrypt.
func encrypted(t *testing.T, p *platforms.Docker) {
	n, err := inSwarm(t, "overlay-encrypted").Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p)
	var wrong *network.WrongPath
	switch {
	case err == nil:
		iferr.Error(t, n.Close(t.Context()))
		for _, trial := range measured(t, p, "overlay-encrypted", 2) {
			if !strings.Contains(hops(trial, false), " h2/esp-h1 ") {
				t.Errorf("%s: no hop proves encryption: %s", trial.Cell.Key(), hops(trial, false))
			}
		}
	case errors.As(err, &wrong):
		if !strings.Contains(wrong.Finding, "no packet of the encrypted overlay arrives") || !strings.Contains(wrong.Finding, "CONFIG_INET_ESP") {
			t.Errorf("finding: %s", wrong.Finding)
		}
		if platformtest.KernelHas(t, "CONFIG_INET_ESP") {
			t.Errorf("the kernel has ESP: %v", err)
		}
		t.Log(err)
	default:
		t.Fatal(err)
	}
}

// leavesNothingNow checks that nothing is left on nodes.
func leavesNothingNow(t *testing.T, p *platforms.Docker, hosts int) {
	t.Helper()
	kept, err := p.Hosts(t.Context(), platform.HostRequest{Count: hosts})
	iferr.Fatal(t, err)
	if left := labelled(t, kept); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, ", "))
	}
	iferr.Error(t, kept.Close(t.Context()))
}

func TestServices(t *testing.T) {
	p := swarms(t)
	for _, name := range []string{"service-dnsrr", "service-vip", "mesh"} {
		for _, hosts := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/hosts=%d", name, hosts), func(t *testing.T) {
				turn.Alternate(t, hosts)
				served(t, p, name, hosts)
			})
		}
	}
}

func served(t *testing.T, p *platforms.Docker, name string, hosts int) {
	if probed := inSwarm(t, name).Probe(t.Context(), p); errors.Is(probed, platform.ErrUnsupported) {
		unserved(t, p, name, hosts)
		t.Skip(probed)
	}
	want := map[string]string{"service-dnsrr": "h1c1/eth0", "service-vip": "lb-overlay-eth0", "mesh": "lb-ingress-eth0"}[name]
	for _, trial := range measured(t, p, name, hosts) {
		if !strings.Contains(hops(trial, false), want) {
			t.Errorf("%s: %s is not in the path%s", trial.Cell.Key(), want, hops(trial, false))
		}
	}
	if hosts == 2 {
		leavesNothing(t, p, name, hosts)
	}
	leavesNothingNow(t, p, hosts)
}

// unserved checks that Connect fails for the same reason as Probe.
func unserved(t *testing.T, p *platforms.Docker, name string, hosts int) {
	n, err := inSwarm(t, name).Connect(t.Context(), network.Topology{Hosts: hosts, Servers: 1, Clients: 1}, p)
	var missing *platform.Unsupported
	switch {
	case err == nil:
		t.Errorf("it was built: %v", n.Close(t.Context()))
	case name == "service-dnsrr" || !errors.As(err, &missing):
		t.Fatal(err)
	case !strings.Contains(missing.Option, "CONFIG_IP_VS") || missing.Remedy == "":
		t.Errorf("%v; remedy %q", err, missing.Remedy)
	}
	if _, gone := os.Stat("/proc/net/ip_vs"); gone == nil || platformtest.KernelHas(t, "CONFIG_IP_VS") {
		t.Errorf("the kernel has virtual servers: %v", err)
	}
	leavesNothingNow(t, p, hosts)
}
