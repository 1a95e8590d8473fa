package docker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/network/docker"
	"nettoll/network/networktest"
	platforms "nettoll/platform/docker"
	"nettoll/record"
)

// TestBesideOnAnotherMachine does the same through an engine that is taken for one on another machine, where the
// baseline is in containers.
func TestBesideOnAnotherMachine(t *testing.T) {
	here := install(t)
	d := func(ctx context.Context) (*client.Client, bool, error) {
		c, _, err := here(ctx)
		return c, false, err
	}
	p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
	var cells []record.Cell
	for _, n := range []string{"host", "container", "bridge"} {
		cells = append(cells, record.Cell{
			Network: "docker:" + n, Baseline: "docker:host", Hosts: 1, Family: 4, Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		})
	}
	trials := networktest.InTurns(t, p, "docker:", docker.All(), cells)
	if len(trials) != 4 {
		t.Errorf("%d trials, want 4", len(trials))
	}
	for _, trial := range trials {
		if trial.Status != record.OK || trial.Part == 0 || len(trial.Slices) == 0 {
			t.Errorf("%s in part %d is %s with %d slices: %s", trial.Cell.Key(), trial.Part, trial.Status, len(trial.Slices), trial.Reason)
		}
	}
}

// TestBesideTheBaseline has each network of a user's engine take turns with the baseline on the same machine, and
// networks with a twin of their own kind, which needs other addresses and ports. The machine is the same afterwards.
func TestBesideTheBaseline(t *testing.T) {
	d := install(t)
	host := machine(t, d)
	before := networktest.State(t, host)
	t.Run("measured", func(t *testing.T) {
		p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
		var cells, twins []record.Cell
		for _, n := range []string{"native", "host", "container", "bridge", "user-bridge", "link", "published", "macvlan"} {
			if n == "macvlan" && !hasDummy(t) {
				continue
			}
			for _, work := range []string{record.TCPStream, record.TCPRR} {
				c := record.Cell{
					Network: "docker:" + n, Baseline: "docker:native", Hosts: 1, Family: 4, Servers: 1, Clients: 2,
					Tool: "engine", Workload: work, Placement: record.PlacementDistinct,
				}
				cells = append(cells, c)
				for c.Twin = 1; c.Twin <= 2 && work == record.TCPRR; c.Twin++ {
					twins = append(twins, c)
				}
			}
		}
		for name, all := range map[string][]record.Cell{"the baseline": cells, "twins": twins} {
			t.Run(name, func(t *testing.T) {
				taken := map[string]bool{}
				trials := networktest.InTurns(t, p, "docker:", docker.All(), all)
				for _, trial := range trials {
					taken[fmt.Sprint(trial.Cell.Key(), trial.Part)] = true
				}
				for _, trial := range trials {
					if trial.Status != record.OK || trial.Part == 0 || len(trial.Slices) == 0 {
						t.Errorf("%s in part %d is %s with %d slices: %s", trial.Cell.Key(), trial.Part, trial.Status, len(trial.Slices), trial.Reason)
					}
					if !taken[fmt.Sprint(trial.Cell.Against().Key(), trial.Part)] {
						t.Errorf("%s has no baseline in its part %d", trial.Cell.Key(), trial.Part)
					}
				}
				for _, c := range all {
					found := false
					for _, trial := range trials {
						found = found || trial.Cell == c
					}
					if !found {
						t.Errorf("%s was not measured", c.Key())
					}
				}
			})
		}
	})
	networktest.Same(t, "when all was measured", before, networktest.State(t, host))
}
