package docker_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/internal/testutil/turn"
	"nettoll/network/docker"
	"nettoll/network/networktest"
	platforms "nettoll/platform/docker"
	"nettoll/record"
)

// TestBesideOnAnotherMachine has networks take turns with the baseline on an engine that nettoll takes for one on another
// machine: there the baseline is in containers.
func TestBesideOnAnotherMachine(t *testing.T) {
	here := install(t)
	d := func(ctx context.Context) (*client.Client, bool, error) {
		c, _, err := here(ctx)
		return c, false, err
	}
	p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){d}})
	var cells []record.Cell
	for _, n := range []string{"native", "host", "container", "bridge"} {
		cells = append(cells, record.Cell{
			Network: "docker:" + n, Baseline: "docker:native", Hosts: 1, Family: 4, Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		})
	}
	trials := networktest.InTurns(t, p, "docker:", docker.All(), cells)
	if len(trials) != 6 { // the baseline three times
		t.Errorf("%d trials, want 6", len(trials))
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
		var cells []record.Cell
		var twins [2][]record.Cell
		for i, n := range []string{"native", "host", "container", "bridge", "user-bridge", "link", "published", "macvlan"} {
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
					twins[i%2] = append(twins[i%2], c)
				}
			}
		}
		all := func(cells []record.Cell) func(*testing.T) {
			return func(t *testing.T) {
				taken := map[string]bool{}
				trials := networktest.InTurns(t, p, "docker:", docker.All(), cells)
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
				for _, c := range cells {
					found := false
					for _, trial := range trials {
						found = found || trial.Cell == c
					}
					if !found {
						t.Errorf("%s was not measured", c.Key())
					}
				}
			}
		}
		t.Run("the baseline", all(cells))
		for i, half := range twins {
			t.Run(fmt.Sprintf("twins, half %d", i+1), func(t *testing.T) {
				turn.Alternate(t, i, "docker", "platform/docker", "runner", "internal/plumb")
				all(half)(t)
			})
		}
	})
	networktest.Same(t, "when all was measured", before, networktest.State(t, host))
}
