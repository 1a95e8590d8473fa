package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	dockerd "nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/docker"
	"nettoll/network/kernel"
	platforms "nettoll/platform/docker"
	"nettoll/record"
)

// run is the id of the tests' runs.
const run = "0123456789abcdef"

// named returns the engine's name of an object of the run.
func named(what string) string { return "nettoll-" + run[:12] + "-" + what }

// image returns nettoll's image, with the test program as nettoll.
func image(t *testing.T) dockerd.Image {
	t.Helper()
	agent, err := rootfs.Agent()
	iferr.Fatal(t, err)
	root, err := rootfs.New(agent)
	iferr.Fatal(t, err)
	return dockerd.Image{Root: root}
}

// host returns the engine's machine as a host, without a platform. The engine is closed at the end of
// the test.
func (d *daemon) host(t *testing.T) *dockerd.Host {
	t.Helper()
	c, err := d.Dial(t.Context())
	iferr.Fatal(t, err)
	e := dockerd.NewEngine(c, run, image(t))
	h := dockerd.Borrow(e, 0, true)
	t.Cleanup(func() {
		iferr.Error(t, h.Empty(context.Background()))
		iferr.Error(t, e.Close(context.Background()))
	})
	return h
}

// rounds measures a network of the engine in two rounds, and disturbs the first trial. The first must fail
// with one line that contains the words; the second must succeed as usual. On a busy machine, the second may get no
// CPU time, or the reason may be known too late: all of it is tried again. A fault of nettoll's shows each time.
func rounds(t *testing.T, d *daemon, name string, disturb func(), words ...string) {
	t.Helper()
	p := platforms.New(platforms.Options{
		Run: run, Image: image(t),
		Dial: []func(context.Context) (*client.Client, bool, error){
			func(ctx context.Context) (*client.Client, bool, error) {
				c, err := d.Dial(ctx)
				return c, true, err
			},
		},
	})
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	all := append(docker.All(), kernel.Veth())
	i := slices.IndexFunc(all, func(d network.Driver) bool { return d.Name == name })
	try := func() error {
		trials := dockertest.Disturbance{
			Network: name, Platform: p, Driver: all[i], Hosts: 1, Rounds: 2, Duration: 0.5, Do: disturb,
		}.Measure(t)
		switch first, last := trials[0], trials[1]; {
		case first.Status != record.Failed:
			return fmt.Errorf("the disturbed trial: %s", first.Status)
		case last.Status != record.OK:
			return fmt.Errorf("the next trial: %s: %s", last.Status, last.Reason)
		default:
			return oneLine(first.Reason, words...)
		}
	}
	err := try()
	for range dockertest.Tries - 1 {
		if err != nil {
			t.Logf("again, since %v", err)
			err = try()
		}
	}
	iferr.Error(t, err)
}
