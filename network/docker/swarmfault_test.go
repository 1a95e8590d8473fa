package docker_test

import (
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	dockerd "nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/record"
)

// rounds measures n rounds of an overlay of two hosts, and disturbs the first.
func rounds(t *testing.T, p platform.Platform, n int, disturb func()) []record.Trial {
	t.Helper()
	trials := dockertest.Disturbance{
		Network: "swarm:overlay", Platform: p, Driver: inSwarm(t, "overlay"), Hosts: 2, Rounds: n, Duration: 1, Do: disturb,
	}.Measure(t)
	if trials[0].Status == record.OK {
		t.Error("the disturbed trial is ok")
	}
	for _, trial := range trials {
		if trial.Status != record.OK && (trial.Reason == "" || strings.Contains(trial.Reason, "\n")) {
			t.Errorf("round %d: the reason is no line: %q", trial.Round, trial.Reason)
		}
	}
	return trials
}

// second returns the second node of the private swarm on which networks of two hosts are built.
func second(t *testing.T, p *platforms.Docker) *dockerd.Host {
	t.Helper()
	hosts, err := p.Engines(t.Context(), platform.HostRequest{Count: 2}, dockerd.Settings{})
	iferr.Fatal(t, err)
	if err := hosts.Close(t.Context()); err != nil { // they are kept for the next network
		t.Fatal(err)
	}
	return hosts.Docker[1]
}

// works checks that the last trial is good.
func works(t *testing.T, trials []record.Trial) {
	t.Helper()
	if last := trials[len(trials)-1]; last.Status != record.OK {
		t.Errorf("afterwards: %s: %s", last.Status, last.Reason)
	}
}

func TestNodeLeaves(t *testing.T) {
	p := ownSwarms(t)
	h := second(t, p)
	works(t, rounds(t, p, 2, func() {
		if _, err := h.Engine.Client.SwarmLeave(t.Context(), client.SwarmLeaveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}))
}

func TestPartition(t *testing.T) {
	p := ownSwarms(t)
	h := second(t, p)
	works(t, rounds(t, p, 3, func() {
		cut, err := h.Start(t.Context(), platform.Command{Path: "ip", Args: []string{"link", "set", h.Uplink().Device, "down"}})
		if err == nil {
			err = cut.Wait()
		}
		iferr.Error(t, err)
	}))
}
