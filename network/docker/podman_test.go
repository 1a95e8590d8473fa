package docker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/dockertest"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	platforms "nettoll/platform/docker"
	"nettoll/record"
)

// TestPodman measures on Podman in place of Docker Engine, and checks that it has no containers, networks and images afterwards.
func TestPodman(t *testing.T) {
	turn.Rotate(t, 1)
	dial := dockertest.Podman(t)
	c, _, err := dial(t.Context())
	iferr.Fatal(t, err)
	defer c.Close()
	t.Run("measured", func(t *testing.T) {
		p := engines(t, platforms.Options{Dial: []func(context.Context) (*client.Client, bool, error){dial}})
		for _, tech := range []network.Driver{
			byName(t, "native"), byName(t, "host"), byName(t, "container"), byName(t, "bridge"), byName(t, "user-bridge"), byName(t, "published"), kernel.Veth(),
		} {
			t.Run(tech.Name, func(t *testing.T) {
				for _, trial := range networktest.Measure(t, p, tech, []record.Cell{{
					Network: "docker:" + tech.Name, Hosts: 1, Family: 4, Servers: 1, Clients: 2,
					Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
				}}) {
					on := slices.ContainsFunc(trial.Endpoints, func(e record.Endpoint) bool { return strings.HasPrefix(e.Platform, "Podman ") })
					if trial.Status != record.OK || on != (tech.Name != "native") {
						t.Errorf("%s: %s: %s, %+v", trial.Cell.Key(), trial.Status, trial.Reason, trial.Endpoints)
					}
				}
			})
		}
		for _, name := range []string{"link", "published-proxy", "macvlan"} {
			t.Run(name, func(t *testing.T) {
				refused(t, p, byName(t, name), network.Topology{Hosts: 1, Servers: 1, Clients: 1})
			})
		}
	})
	containers, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true})
	networks, errNetworks := c.NetworkList(t.Context(), client.NetworkListOptions{})
	images, errImages := c.ImageList(t.Context(), client.ImageListOptions{All: true})
	iferr.Fatal(t, errors.Join(err, errNetworks, errImages))
	if len(containers.Items) > 0 || len(networks.Items) > 1 || len(images.Items) > 0 {
		t.Errorf("left: containers %v, networks %v, images %v", containers.Items, networks.Items, images.Items)
	}
}
