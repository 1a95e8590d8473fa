package docker_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/docker"
	"nettoll/network/networktest"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/record"
)

// TestBetweenMachines measures between two engines of the user's that are on other machines, whose bridges have the same
// address. The machines are the same afterwards. That takes a test of its own: namespaces of other tests' engines can be seen, too.
func TestBetweenMachines(t *testing.T) {
	d := daemons(t, 2)
	o := options(t, d...)
	one := network.Topology{Hosts: 2, Servers: 1, Clients: 1}
	closed := platforms.New(o)
	for _, name := range []string{"native", "host"} {
		_, err := byName(t, name).Connect(t.Context(), one, closed)
		missing(t, err, "your permission", "--through-my-network")
	}
	iferr.Error(t, closed.Close(t.Context()))

	var hosts []platform.Host
	for _, e := range d {
		hosts = append(hosts, e.Host)
	}
	before := networktest.State(t, hosts...)
	o.Through, o.Names = true, []string{"a", "b"}
	p := platforms.New(o)
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	ends := make([]string, len(d))
	for i, e := range d {
		ends[i] = fmt.Sprintf("%s (%s, eth0)", o.Names[i], e.Uplink().Addr4.Addr())
	}
	ways, err := p.Ways(t.Context())
	if want := []string{strings.Join(ends, " and ")}; err != nil || !slices.Equal(ways, want) {
		t.Errorf("ways %q, %v; want %q", ways, err, want)
	}
	again, err := asSwarm(t, o).Ways(t.Context()) // on the same engines, with the same names of containers
	if err != nil || !slices.Equal(again, ways) {
		t.Errorf("ways of another platform on the engines: %q, %v; want %q", again, err, ways)
	}
	wrong := o
	wrong.At = map[string]netip.Addr{"a": netip.MustParseAddr("192.0.2.1")}
	lost := asSwarm(t, wrong)
	_, first := lost.Ways(t.Context())
	missing(t, first, "192.0.2.1", "--address")
	if _, err := lost.Ways(t.Context()); err != first {
		t.Errorf("the network between the machines is looked for again: %v", err)
	}
	for _, name := range []string{"published", "macvlan"} {
		_, err := byName(t, name).Connect(t.Context(), one, p)
		missing(t, err, "between machines of your own", "--private-engine")
	}
	var turns []record.Cell
	for _, name := range []string{"native", "host"} {
		t.Run(name, func(t *testing.T) {
			var cells []record.Cell
			for _, family := range []int{4, 6} {
				cells = append(cells, record.Cell{
					Network: "docker:" + name, Hosts: 2, Family: family, Servers: 2, Clients: 3,
					Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
				})
			}
			for _, trial := range networktest.Measure(t, p, byName(t, name), cells) {
				overCards(t, trial)
			}
		})
		for _, load := range []string{record.TCPRR, record.TCPStream} {
			turns = append(turns, record.Cell{
				Network: "docker:" + name, Baseline: "docker:native", Hosts: 2, Family: 4, Servers: 1, Clients: 1,
				Tool: "engine", Workload: load, Placement: record.PlacementFree,
			})
		}
	}
	t.Run("in turns", func(t *testing.T) {
		trials := networktest.InTurns(t, p, "docker:", docker.All(), turns)
		if len(trials) != len(turns) {
			t.Errorf("%d trials, want %d", len(trials), len(turns))
		}
		for _, trial := range trials {
			if len(trial.Slices) == 0 {
				t.Errorf("%s has taken no turns: %v", trial.Cell.Key(), trial.Warnings)
			}
			if trial.Clocks == nil || trial.Clocks.Over != record.OverNetwork {
				t.Errorf("%s: clocks were compared %+v", trial.Cell.Key(), trial.Clocks)
			}
			overCards(t, trial)
		}
	})
	iferr.Error(t, p.Close(t.Context()))
	ours := make(client.Filters).Add("label", engine.Label+"="+o.Run)
	for _, e := range d {
		dockertest.Until(t, "no container is left on "+e.Name(), func() bool { // one that is being removed is still listed
			left, err := e.Engine.Client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: ours})
			return err == nil && len(left.Items) == 0
		})
	}
	networktest.Same(t, "when all was measured", before, networktest.State(t, hosts...))
}

// overCards checks that a trial between two machines is good, that its payload was counted by the network cards of both,
// and that the record describes these.
func overCards(t *testing.T, trial record.Trial) {
	t.Helper()
	if trial.Status != record.OK {
		t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
	}
	if must, not := hops(trial, false), hops(trial, true); must != " h2/eth0 h1/eth0 " || not != "  " {
		t.Errorf("%s: the payload crossed%s, and not%s", trial.Cell.Key(), must, not)
	}
	for _, e := range trial.Endpoints {
		if e.NIC == nil || e.NIC.Device != "eth0" {
			t.Errorf("%s: %s has the network card %+v", trial.Cell.Key(), e.Name, e.NIC)
		}
	}
	away := func(w record.Warning) bool { return strings.Contains(w.Text, "only the engine can start them: h1, h2") }
	if says := slices.ContainsFunc(trial.Warnings, away); says != (trial.Cell.Network == "docker:native") {
		t.Errorf("%s: %v", trial.Cell.Key(), trial.Warnings)
	}
}
