package kubernetes_test

import (
	"context"
	"testing"

	"nettoll/docker/rootfs"
	"nettoll/internal/testutil"
	"nettoll/kube"
	"nettoll/network/kubernetes"
	"nettoll/network/networktest"
	platforms "nettoll/platform/kubernetes"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestConformance runs the suite on private clusters.
func TestConformance(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	networktest.ConformOn(t, clusters(t), "kubernetes:", kubernetes.All()...)
}

// clusters returns a platform whose image holds this test program, which serves as the agent.
func clusters(t *testing.T) *platforms.Kubernetes {
	t.Helper()
	agent, err := rootfs.Agent()
	if err != nil {
		t.Fatal(err)
	}
	image, err := rootfs.New(agent)
	if err != nil {
		t.Fatal(err)
	}
	p := platforms.New(platforms.Options{Options: kube.Options{Run: "conform01234", Image: image}, Lab: lab.New()})
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}
