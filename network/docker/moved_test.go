package docker_test

import (
	"strings"
	"testing"

	dockerd "nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/runner"
	"nettoll/sampler"
	"nettoll/workload"
	"nettoll/workload/engine"

	"github.com/vishvananda/netlink"
)

// TestPortsThatAreMovedInMidTrial: containers of an engine that are all moved to another bridge
// go on talking, and their devices go on counting.
func TestPortsThatAreMovedInMidTrial(t *testing.T) {
	platformtest.Require(t, "dockerd", dockerd.Available())
	p := engines(t, platforms.Options{Lab: lab.New()})
	m, err := sampler.Machine("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := p.Engines(t.Context(), platform.HostRequest{Count: 1}, dockerd.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := hosts.Close(t.Context()); err != nil { // the network is built on them
		t.Fatal(err)
	}
	move := func() {
		err := nl.With(hosts.Docker()[0].NetNS(), func(n *nl.NS) error {
			all, err := n.Interfaces()
			if err != nil {
				return err
			}
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "other"
			if err := n.Add(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
				return err
			}
			if err := n.Up(attrs.Name); err != nil {
				return err
			}
			for _, d := range all {
				if d.Kind == "veth" && d.Master != 0 {
					if err := n.Master(d.Name, attrs.Name); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	var trials []record.Trial
	r := &runner.Runner{
		Networks: map[string]runner.Recipe{"docker:bridge": {Platform: p, Driver: byName(t, "bridge")}},
		Tools:    map[string]workload.Tool{"engine": &disturbed{Tool: engine.New(), disturb: move}},
		Machine:  m,
		Settings: record.Settings{Duration: 0.5, Warmup: 0.1, MinRounds: 1, MaxRounds: 1, Confidence: 0.95, Seed: 1},
		Cells: []record.Cell{{
			Network: "docker:bridge", Hosts: 1, Family: int(network.IPv4), Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		}},
		Save:   func(tr record.Trial) error { trials = append(trials, tr); return nil },
		Enough: func([]record.Trial) map[string]bool { return nil },
	}
	if _, err := r.Run(t.Context()); err != nil || len(trials) != 1 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	if tr := trials[0]; tr.Status != record.Invalid || !strings.Contains(tr.Reason, " was a port of docker0, and is one of other") {
		t.Errorf("%s: %s", tr.Status, tr.Reason)
	}
}
