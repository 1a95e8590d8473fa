package kubernetes_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nettoll/docker/rootfs"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/turn"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/network/kubernetes"
	"nettoll/network/networktest"
	"nettoll/platform"
	platforms "nettoll/platform/kubernetes"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/workload/engine"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestConformance runs the suite on private clusters.
func TestConformance(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	p := clusters(t)
	networktest.ConformOn(t, p, "kubernetes:", kubernetes.All()...)
	t.Run("further services", func(t *testing.T) { furtherServices(t, p) })
	for _, hosts := range []int{1, 2} {
		t.Run(fmt.Sprintf("hosts=%d/in turns", hosts), func(t *testing.T) {
			turn.Alternate(t, hosts, "kube", "platform/kubernetes", "network/networktest", "internal/plumb", "runner")
			inTurns(t, p, hosts)
		})
	}
}

// inTurns measures all networks on one cluster at once, some of them with a twin, which would use the same ports of the
// nodes if nothing prevented it.
func inTurns(t *testing.T, p *platforms.Kubernetes, hosts int) {
	var cells []record.Cell
	for _, d := range kubernetes.All() {
		c := record.Cell{
			Network: "kubernetes:" + d.Name, Baseline: "kubernetes:native", Hosts: hosts, Family: 4, Servers: 1, Clients: 2,
			Tool: engine.Name, Workload: record.TCPRR, Placement: record.PlacementFree,
		}
		if !slices.Contains(d.Hosts, hosts) {
			continue
		}
		cells = append(cells, c)
		if d.Name == "native" || d.Name == "nodeport" {
			c.Twin = 1
			cells = append(cells, c)
		}
	}
	trials := networktest.InTurns(t, p, "kubernetes:", kubernetes.All(), cells)
	for _, trial := range trials {
		if trial.Status != record.OK || len(trial.Slices) == 0 {
			t.Errorf("%s is %s with %d slices: %s", trial.Cell.Key(), trial.Status, len(trial.Slices), trial.Reason)
		}
		for _, w := range trial.Warnings {
			if w.Code == "foreign-packets" {
				t.Errorf("%s: %s", trial.Cell.Key(), w.Text)
			}
		}
	}
	for _, c := range cells {
		if !slices.ContainsFunc(trials, func(t record.Trial) bool { return t.Cell == c }) {
			t.Errorf("%s was not measured", c.Key())
		}
	}
	if stood := strings.Join(p.Stood(), "; "); !strings.Contains(stood, "networks at once") {
		t.Errorf("stood: %s", stood)
	}
}

// furtherServices checks that the nodes have rules of all further services while a network stands, and of none once it is
// gone.
func furtherServices(t *testing.T, on *platforms.Kubernetes) {
	all := kubernetes.All()
	driver := all[slices.IndexFunc(all, func(d network.Driver) bool { return d.Name == "service" })]
	topo := networktest.Pair
	topo.Services = 5
	n, err := driver.Connect(t.Context(), topo, on)
	if err != nil {
		t.Fatal(err)
	}
	networktest.LastService(t, n, topo)
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := map[netip.Addr]int{}
	for i := range 1 + topo.Services {
		for _, at := range kube.ServiceAddrs(i) {
			gone[at] = 0
		}
	}
	for _, h := range n.Hosts {
		if err := kube.IPTables.Serves(t.Context(), h, gone); err != nil {
			t.Error(err)
		}
	}
}

// TestFlannel runs the suite for pods of private clusters that flannel connects, on several nodes: within one node pods are
// connected as without flannel.
func TestFlannel(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	platformtest.Require(t, "flanneld", kube.Connectable(nil, record.CNIFlannel))
	for _, d := range kubernetes.All() {
		if d.Name == "pod" {
			d.Hosts = []int{2}
			networktest.ConformWith(t, flannel{clusters(t)}, "kubernetes:", "--cni "+record.CNIFlannel, d)
		}
	}
}

// flannel has its clusters' pods connected by flannel.
type flannel struct{ *platforms.Kubernetes }

// Clusters implements kube.Provider.
func (f flannel) Clusters(ctx context.Context, req platform.HostRequest) (*kube.Hosts, error) {
	req.CNI = record.CNIFlannel
	return f.Kubernetes.Clusters(ctx, req)
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
