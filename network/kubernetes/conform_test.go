package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nettoll/docker/rootfs"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
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
	turns := func(hosts int) {
		t.Run(fmt.Sprintf("hosts=%d/in turns", hosts), func(t *testing.T) {
			turn.Alternate(t, hosts, "kube", "platform/kubernetes", "network/networktest", "internal/plumb", "runner")
			inTurns(t, p, hosts)
		})
	}
	var beside sync.WaitGroup
	beside.Go(func() { turns(1) }) // on a cluster of its own
	t.Run("further services", func(t *testing.T) { furtherServices(t, p) })
	t.Run("policies that nothing enforces", func(t *testing.T) { ignoredPolicies(t, p) })
	turns(2)
	beside.Wait()
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
		if slices.Contains([]string{"native", "nodeport", "hostport"}, d.Name) {
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
	topo := networktest.Pair
	topo.Services = 5
	n, err := named("service").Connect(t.Context(), topo, on)
	iferr.Fatal(t, err)
	networktest.LastService(t, n, topo)
	if n.InForce.Service <= 0 || n.InForce.Policy != 0 {
		t.Errorf("in force: %+v", n.InForce)
	}
	t.Logf("the server's service was in force after %.3f s", n.InForce.Service)
	iferr.Fatal(t, n.Close(t.Context()))
	gone := map[netip.Addr]int{}
	for i := range 1 + topo.Services {
		for _, at := range kube.ServiceAddrs(i) {
			gone[at] = 0
		}
	}
	for _, h := range n.Hosts {
		iferr.Error(t, kube.IPTables.Serves(t.Context(), h, gone))
	}
	// A network that is compared with it has the same topology, and no services.
	other, err := named("hostport").Connect(t.Context(), topo, on)
	iferr.Fatal(t, err)
	if other.InForce != (record.InForce{}) {
		t.Errorf("in force without services: %+v", other.InForce)
	}
	iferr.Fatal(t, other.Close(t.Context()))
}

// TestFlannel runs the suite for pods of private clusters that flannel connects, on several nodes: within one node pods are
// connected as without flannel.
func TestFlannel(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	platformtest.Require(t, "flanneld", kube.Connectable(nil, record.CNIFlannel))
	on := connected{clusters(t), record.CNIFlannel}
	d := named("pod")
	d.Hosts = []int{2}
	networktest.ConformWith(t, on, "kubernetes:", "--cni "+record.CNIFlannel, d)
	t.Run("to nodes", func(t *testing.T) { // flannel's devices lead to pods, and not to nodes
		var cells []record.Cell
		for _, family := range []int{4, 6} {
			cells = append(cells, record.Cell{
				Network: "nodeport", Hosts: 2, Family: family, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
			})
		}
		for _, tr := range networktest.Measure(t, on, named("nodeport"), cells) {
			if tr.Status != record.OK || slices.ContainsFunc(tr.Path, func(h record.Hop) bool { return strings.Contains(h.Name, "flannel") }) {
				t.Errorf("IPv%d: %s, %s, over %+v", tr.Cell.Family, tr.Status, tr.Reason, tr.Path)
			}
		}
	})
}

// TestCalico runs the suite for pods of private clusters that Calico connects, and tries policies there, which felix enforces.
func TestCalico(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	platformtest.Require(t, "calico-cni", kube.Connectable(nil, record.CNICalico))
	p := connected{clusters(t), record.CNICalico}
	t.Run("conformance", func(t *testing.T) {
		turn.Alternate(t, 0, "kube", "platform/kubernetes", "network/networktest", "internal/felix", "internal/plumb")
		networktest.ConformWith(t, p, "kubernetes:", "--cni "+record.CNICalico, named("pod"))
	})
	for _, name := range []string{"pod", "nodeport"} {
		t.Run("policies/"+name, func(t *testing.T) { enforcedPolicies(t, p, named(name)) })
	}
	t.Run("rests", func(t *testing.T) { rests(t, p) })
}

// rests checks that felix is stopped while no network stands on its cluster, and that the next network is connected by it.
func rests(t *testing.T, on kube.Provider) {
	felix := map[int]string{}        // by PID
	stopped := func(want int) bool { // a signal takes a moment
		t.Helper()
		for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			n := 0
			for pid := range felix {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				iferr.Fatal(t, err)
				if state := text[strings.LastIndex(string(text), ")")+2]; state == 'T' {
					n++
				}
			}
			if n == want {
				return true
			}
		}
		return false
	}
	for round := range 3 {
		n, err := named("pod").Connect(t.Context(), networktest.Pair, on)
		iferr.Fatal(t, err)
		hosts, err := on.Clusters(t.Context(), platform.HostRequest{Count: networktest.Pair.Hosts}) // a second network
		iferr.Fatal(t, err)
		for _, d := range hosts.Cluster.Daemons() {
			if strings.HasPrefix(d.String(), "felix on ") {
				felix[d.PID()] = d.String()
			}
		}
		iferr.Error(t, hosts.Close(t.Context()))
		if len(felix) != networktest.Pair.Hosts || !stopped(0) {
			t.Errorf("round %d: of %v, some are stopped while a network stands", round, felix)
		}
		for _, f := range []network.Family{network.IPv4, network.IPv6} {
			if err := networktest.Answers(t, n, networktest.Pair, f, soon); err != nil {
				t.Errorf("round %d: IPv%d: the server does not answer: %v", round, f, err)
			}
		}
		for _, h := range n.Path(n.Clients[0], n.Servers[0], network.IPv4) {
			if c, err := h.Read(t.Context()); err != nil || h.Kind == network.Rule && c.Packets == 0 {
				t.Errorf("round %d: %s has counted %d packets, %v", round, h.Name, c.Packets, err)
			}
		}
		iferr.Error(t, n.Close(t.Context()))
		if !stopped(len(felix)) {
			t.Errorf("round %d: of %v, some go on while no network stands", round, felix)
		}
	}
}

// connected has its clusters' pods connected in the way that cni names.
type connected struct {
	*platforms.Kubernetes
	cni string
}

// Clusters implements kube.Provider.
func (c connected) Clusters(ctx context.Context, req platform.HostRequest) (*kube.Hosts, error) {
	req.CNI = c.cni
	return c.Kubernetes.Clusters(ctx, req)
}

func named(name string) network.Driver {
	all := kubernetes.All()
	return all[slices.IndexFunc(all, func(d network.Driver) bool { return d.Name == name })]
}

// policed is a pair whose server has further policies.
func policed() network.Topology {
	topo := networktest.Pair
	topo.Policies = 3
	return topo
}

// policies returns the names of the policies on a cluster.
func policies(t *testing.T, on kube.Provider) (names []string) {
	t.Helper()
	var all struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	ask(t, on, http.MethodGet, policiesPath, nil, &all)
	for _, one := range all.Items {
		names = append(names, one.Metadata.Name)
	}
	return names
}

// ask asks the API server of the cluster that a pair is on.
func ask(t *testing.T, on kube.Provider, method, path string, in, out any) {
	t.Helper()
	hosts, err := on.Clusters(t.Context(), platform.HostRequest{Count: networktest.Pair.Hosts})
	iferr.Fatal(t, err)
	defer hosts.Close(context.Background())
	iferr.Fatal(t, hosts.Cluster.Server.Ask(t.Context(), method, path, in, out))
}

// soon is more than felix needs to write rules, even on a busy machine.
const soon = 30 * time.Second

const policiesPath = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"

// ignoredPolicies checks that a network with further policies is refused on a cluster that accepts policies and does nothing
// about them, before anything is made, and that such a cluster does nothing about them indeed.
func ignoredPolicies(t *testing.T, on kube.Provider) {
	n, err := named("pod").Connect(t.Context(), policed(), on)
	if err == nil {
		n.Close(context.Background())
	}
	var lacks *platform.Unsupported
	if !errors.As(err, &lacks) || lacks.Option != "a network of pods that enforces it" || !strings.Contains(lacks.Remedy, "--cni calico") {
		t.Fatalf("policies on a cluster that ignores them: %v", err)
	}
	if left := policies(t, on); left != nil {
		t.Errorf("policies are left: %v", left)
	}
	if n, err = named("pod").Connect(t.Context(), networktest.Pair, on); err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.Background())
	ask(t, on, http.MethodPost, policiesPath, map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"name": "nobody"},
		"spec": map[string]any{"podSelector": map[string]any{}, "policyTypes": []string{"Ingress"}},
	}, nil)
	defer ask(t, on, http.MethodDelete, policiesPath+"/nobody", nil, nil)
	const ignored = 3 * time.Second // felix needs a fraction of this
	for end := time.Now().Add(ignored); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := networktest.Answers(t, n, networktest.Pair, network.IPv4, soon); err != nil {
			t.Fatalf("the server has a policy that admits nobody, and does not answer: %v", err)
		}
	}
}

// enforcedPolicies checks that the policies of a network are in force while it stands: without the one that admits everything,
// the server does not answer. None is left of a network that is gone.
func enforcedPolicies(t *testing.T, on kube.Provider, d network.Driver) {
	n, err := d.Connect(t.Context(), policed(), on)
	iferr.Fatal(t, err)
	closed := false
	defer func() {
		if !closed {
			n.Close(context.Background())
		}
	}()
	want := []string{"policy-00001", "policy-00002", "policy-00003", "policy-admits"}
	if got := policies(t, on); !slices.Equal(got, want) {
		t.Errorf("policies: %v, want %v", got, want)
	}
	if said := strings.Join(n.Remarks(network.IPv4), "; "); !strings.Contains(said, "3 network policies that admit nobody") {
		t.Errorf("remarks: %s", said)
	}
	if n.InForce.Policy <= 0 || n.InForce.Service != 0 {
		t.Errorf("in force: %+v", n.InForce)
	}
	t.Logf("the last policy was in force after %.3f s", n.InForce.Policy)
	if err := networktest.Answers(t, n, policed(), network.IPv4, soon); err != nil {
		t.Errorf("the server does not answer: %v", err)
	}
	ask(t, on, http.MethodDelete, policiesPath+"/policy-admits", nil, nil)
	for _, f := range []network.Family{network.IPv4, network.IPv6} {
		for deadline := time.Now().Add(soon); networktest.Answers(t, n, policed(), f, time.Second) == nil; {
			if time.Now().After(deadline) {
				t.Fatalf("the server answers over IPv%d although its policies admit nobody", f)
			}
		}
	}
	closed = true
	iferr.Fatal(t, n.Close(t.Context()))
	if left := policies(t, on); left != nil {
		t.Errorf("policies are left: %v", left)
	}
}

// clusters returns a platform whose image holds this test program, which serves as the agent.
func clusters(t *testing.T) *platforms.Kubernetes {
	t.Helper()
	agent, err := rootfs.Agent()
	iferr.Fatal(t, err)
	image, err := rootfs.New(agent)
	iferr.Fatal(t, err)
	p := platforms.New(platforms.Options{Options: kube.Options{Run: "0c0f04301234", Image: image}, Lab: lab.New()})
	t.Cleanup(func() { iferr.Error(t, p.Close(context.Background())) })
	return p
}
