package docker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// daemons starts engines as a user might run them, each on its own host.
func daemons(t *testing.T, n int) []*engine.Private {
	t.Helper()
	platformtest.Require(t, "dockerd", engine.Available())
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: n})
	iferr.Fatal(t, err)
	all, errs := make([]*engine.Private, n), make([]error, n)
	var starting sync.WaitGroup
	for i, h := range hosts.All() {
		starting.Go(func() {
			all[i], errs[i] = engine.StartPrivate(t.Context(), h, i, "feedfacefeedface", engine.Image{}, engine.Settings{})
		})
	}
	starting.Wait()
	t.Cleanup(func() {
		var stopping sync.WaitGroup
		for _, d := range all {
			if d != nil {
				stopping.Go(func() {
					iferr.Error(t, d.Stop())
				})
			}
		}
		stopping.Wait()
		iferr.Error(t, hosts.Close(context.Background()))
	})
	iferr.Fatal(t, errors.Join(errs...))
	return all
}

// options returns those of a platform of a user's engines, none of which is known to run on this machine.
func options(t *testing.T, of ...*engine.Private) platforms.Options {
	t.Helper()
	agent, err := rootfs.Agent()
	iferr.Fatal(t, err)
	image, err := rootfs.New(agent)
	iferr.Fatal(t, err)
	o := platforms.Options{Run: "0123456789abcdef", Image: engine.Image{Root: image}}
	for _, d := range of {
		o.Dial = append(o.Dial, func(ctx context.Context) (*client.Client, bool, error) {
			c, err := client.New(client.WithHost(d.Engine.Client.DaemonHost()))
			if err == nil {
				_, err = c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
			}
			return c, false, err
		})
	}
	return o
}

// borrowed returns the platform of the swarm of a user's engines.
func borrowed(t *testing.T, of ...*engine.Private) *platforms.Docker {
	t.Helper()
	return asSwarm(t, options(t, of...))
}

// asSwarm returns the platform of a user's engines as that of their swarm, which is closed with the test.
func asSwarm(t *testing.T, o platforms.Options) *platforms.Docker {
	t.Helper()
	p := platforms.NewSwarm(o)
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	return p
}

// missing checks that an error reports that something is missing, what it is, and what would fix
// it.
func missing(t *testing.T, err error, what, remedy string) {
	t.Helper()
	u := (*platform.Unsupported)(nil)
	if !errors.As(err, &u) {
		t.Fatalf("got %v, want it to be unsupported", err)
	}
	if !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v: want one line with %q", err, what)
	}
	if !strings.Contains(u.Remedy, remedy) {
		t.Errorf("the remedy %q lacks %q", u.Remedy, remedy)
	}
}

func TestSwarmOfTheUser(t *testing.T) {
	besideOthers(t)
	d := daemons(t, 3)
	missing(t, borrowed(t, d[0], d[1]).Probe(t.Context()), "engine h1 (on ", "docker swarm init")
	if _, err := engine.FormSwarm(t.Context(), d[:2]); err != nil {
		t.Fatal(err)
	}
	missing(t, borrowed(t, d[0], d[2]).Probe(t.Context()), "is not part of a swarm", "--private-engine")
	missing(t, borrowed(t, d[1]).Probe(t.Context()), "none of the engines is a manager", "--docker-host")
	if _, err := engine.FormSwarm(t.Context(), d[2:]); err != nil {
		t.Fatal(err)
	}
	missing(t, borrowed(t, d[0], d[2]).Probe(t.Context()), "is part of another swarm than", "docker swarm join")

	// The manager need not be the first engine, nor take part in a measurement.
	p := borrowed(t, d[1], d[0])
	iferr.Fatal(t, p.Probe(t.Context()))
	for i, name := range []string{"overlay", "service-dnsrr"} {
		for _, hosts := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/hosts=%d", name, hosts), func(t *testing.T) {
				turn.Rotate(t, (i+hosts)%2)
				measured(t, p, name, hosts)
				leavesNothing(t, p, name, hosts)
			})
		}
	}
	for name, what := range map[string]string{"mesh": "all addresses of all nodes", "native": "your permission", "host": "your permission"} {
		_, err := inSwarm(t, name).Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p)
		missing(t, err, what, "")
	}
	iferr.Error(t, p.Close(t.Context()))

	// Its nodes reach each other where the swarm knows them, and overlays are seen on the same devices.
	o := options(t, d[1], d[0])
	o.Through = true
	p = asSwarm(t, o)
	for name, path := range map[string]string{
		"native": " h2/eth0 h1/eth0 ", "host": " h2/eth0 h1/eth0 ", "overlay": " h2c1/eth0 h2/eth0 h1/eth0 h1c1/eth0 ",
	} {
		t.Run(name+" between machines", func(t *testing.T) {
			c := record.Cell{Network: "swarm:" + name, Hosts: 2, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPStream, Placement: record.PlacementFree}
			for _, trial := range networktest.Measure(t, p, inSwarm(t, name), []record.Cell{c}) {
				if trial.Status != record.OK || hops(trial, false) != path {
					t.Errorf("%s: %s %s; the path is%s, want%s", trial.Cell.Key(), trial.Status, trial.Reason, hops(trial, false), path)
				}
				found := slices.ContainsFunc(trial.Warnings, func(w record.Warning) bool {
					return w.Text == "by their counters, h1/eth0 and h2/eth0 carried the payload between the machines"
				})
				if found != (name == "overlay") {
					t.Errorf("%s: %v", trial.Cell.Key(), trial.Warnings)
				}
			}
		})
	}

	if _, err := d[1].Engine.Client.SwarmLeave(t.Context(), client.SwarmLeaveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	_, err := inSwarm(t, "overlay").Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p)
	if err == nil || errors.Is(err, platform.ErrUnsupported) || !strings.Contains(err.Error(), "engine h1 (on ") ||
		!strings.Contains(err.Error(), "is not part of a swarm") || strings.Contains(err.Error(), "\n") {
		t.Errorf("after a node has left: %v; want one line that names it, as of a fault", err)
	}
}
