package docker_test

import (
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nettoll/docker/dockertest"
	dockerd "nettoll/docker/engine"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// TestPortsThatAreMovedInMidTrial moves all containers of an engine to another bridge: they
// continue to talk, and their devices continue to count.
func TestPortsThatAreMovedInMidTrial(t *testing.T) {
	platformtest.Require(t, "dockerd", dockerd.Available())
	p := engines(t, platforms.Options{Lab: lab.New()})
	hosts, err := p.Engines(t.Context(), platform.HostRequest{Count: 1}, dockerd.Settings{})
	iferr.Fatal(t, err)
	if err := hosts.Close(t.Context()); err != nil { // the network is built on these hosts
		t.Fatal(err)
	}
	move := func() {
		err := nl.With(hosts.Docker[0].NetNS(), func(n *nl.NS) error {
			all, err := n.Interfaces()
			if err != nil {
				return err
			}
			attrs := nl.Attrs("other", 0)
			if err := n.Remove(attrs.Name); err != nil { // of a trial that failed
				return err
			}
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
		iferr.Error(t, err)
	}
	moved := dockertest.Disturbance{
		Network: "docker:bridge", Platform: p, Driver: byName(t, "bridge"), Hosts: 1, Rounds: 1, Duration: 0.5, Do: move,
	}
	tr := moved.Measure(t)[0]
	for tries := 1; tries < dockertest.Tries && tr.Status == record.Failed; tries++ { // for lack of CPU time
		tr = moved.Measure(t)[0]
	}
	if tr.Status != record.Invalid || !strings.Contains(tr.Reason, " was a port of docker0, and is now a port of other") {
		t.Errorf("%s: %s", tr.Status, tr.Reason)
	}
}
