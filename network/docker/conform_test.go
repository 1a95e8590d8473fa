package docker_test

import (
	"context"
	"strings"
	"testing"

	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/docker"
	"nettoll/network/flannel"
	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/network/ovs"
	platforms "nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m, endSwarms) }

// TestConformance runs the suite on private engines: on all networks of Docker, and on networks
// that the lab's code sets up for containers without one.
func TestConformance(t *testing.T) {
	platformtest.Require(t, "dockerd", engine.Available())
	p := engines(t, platforms.Options{Lab: lab.New()})
	var all []network.Driver
	old := engine.Settings{NFTables: true}.Supported(t.Context())
	for _, tech := range docker.All() {
		if strings.HasSuffix(tech.Name, "-nftables") && old != nil {
			t.Run(tech.Name, func(t *testing.T) { platformtest.Require(t, "dockerd-nftables", old) })
			continue
		}
		all = append(all, tech)
	}
	all = append(all, kernel.Veth(), kernel.PipeworkVeth(), kernel.PipeworkMacvlan(), kernel.IPTables(), kernel.VXLAN())
	for _, tech := range ovs.All(nil) {
		if tech.Name == "ovs-userspace-tso" {
			all = append(all, tech)
		}
	}
	for _, tech := range flannel.All(nil) {
		if tech.Name == "flannel-vxlan" {
			all = append(all, tech)
		}
	}
	networktest.ConformOn(t, p, "docker:", all...)
}

// engines returns a platform whose image holds this test program, which serves as the agent.
func engines(t *testing.T, o platforms.Options) *platforms.Docker {
	t.Helper()
	agent, err := rootfs.Agent()
	iferr.Fatal(t, err)
	image, err := rootfs.New(agent)
	iferr.Fatal(t, err)
	o.Run, o.Image = "0123456789abcdef", engine.Image{Root: image}
	p := platforms.New(o)
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	return p
}
