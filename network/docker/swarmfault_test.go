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

// rounds measures n rounds of an overlay of two hosts, and disturbs the first by what is done to the second host. The last
// trial must be good. It may get no CPU time on a busy machine: then all of it is tried again.
func rounds(t *testing.T, n int, disturb func(second *dockerd.Host)) {
	t.Helper()
	p := ownSwarms(t)
	for left := dockertest.Tries; ; left-- {
		h := second(t, p)
		trials := dockertest.Disturbance{
			Network: "swarm:overlay", Platform: p, Driver: inSwarm(t, "overlay"), Hosts: 2, Rounds: n, Duration: 1, Do: func() { disturb(h) },
		}.Measure(t)
		if trials[0].Status == record.OK {
			t.Error("the disturbed trial is ok")
		}
		for _, trial := range trials {
			if trial.Status != record.OK && (trial.Reason == "" || strings.Contains(trial.Reason, "\n")) {
				t.Errorf("round %d: the reason is no line: %q", trial.Round, trial.Reason)
			}
		}
		last := trials[len(trials)-1]
		if last.Status == record.OK {
			return
		}
		if left == 1 {
			t.Errorf("afterwards: %s: %s", last.Status, last.Reason)
			return
		}
	}
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

func TestNodeLeaves(t *testing.T) {
	rounds(t, 2, func(h *dockerd.Host) {
		if _, err := h.Engine.Client.SwarmLeave(t.Context(), client.SwarmLeaveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
}

func TestPartition(t *testing.T) {
	rounds(t, 3, func(h *dockerd.Host) {
		cut, err := h.Start(t.Context(), platform.Command{Path: "ip", Args: []string{"link", "set", h.Uplink().Device, "down"}})
		if err == nil {
			err = cut.Wait()
		}
		iferr.Error(t, err)
	})
}
