package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload/engine"
)

// shared is an endpoint that has the network of a machine of the user's.
type shared struct{ place }

func (shared) Facts() platform.Facts {
	return platform.Facts{Around: platform.Surroundings{Open: true}}
}

// TestDevicesOfTheUserStayAsTheyAre has conditions that would change them. The trial is skipped before an agent is told to.
func TestDevicesOfTheUserStayAsTheyAre(t *testing.T) {
	for name, change := range map[string]func(*record.Cell){
		"offload":   func(c *record.Cell) { c.Offload = record.OffloadOff },
		"normalize": func(c *record.Cell) { c.Normalize = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(&way{name: "host"}, &way{name: "docker:native", endpoint: func(name string) platform.Endpoint { return shared{place(name)} }})
				change(&b.Cells[1])
				if _, err := b.run(t, t.Context()); err != nil {
					t.Fatal(err)
				}
				got := b.of("docker:native")
				if len(got) == 0 || got[0].Status != record.Skipped || !strings.Contains(got[0].Reason, "a machine of your own") || got[0].Remedy == "" {
					t.Errorf("trials %+v", got)
				}
			})
		})
	}
}

// TestHostsThatStayGetTheirMTUBack measures a network of a host itself with a smaller MTU: the next network on that host must not
// find it changed.
func TestHostsThatStayGetTheirMTUBack(t *testing.T) {
	on, hosts := networktest.Keep(t, lab.New(), 1)
	tr := again(func() []record.Trial {
		return aRound(t, on, engine.New(), kernel.Host(), record.Cell{
			Network: "host", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree, Normalize: true,
		})
	})[0]
	if tr.Status != record.OK || tr.Endpoints[0].Device != "lo" || tr.Endpoints[0].MTU != 1376 {
		t.Errorf("%s: %s: %+v", tr.Status, tr.Reason, tr.Endpoints)
	}
	iferr.Fatal(t, nl.With(hosts.All()[0].Facts().NetNS, func(n *nl.NS) error {
		l, err := n.Link("lo")
		if err == nil && l.Attrs().MTU != 65536 {
			t.Errorf("the MTU of lo is %d", l.Attrs().MTU)
		}
		return err
	}))
}
