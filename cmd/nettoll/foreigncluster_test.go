package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// besideCluster is set for tests that run beside the cluster of testdata/cluster/cluster.sh: the folder with its files.
const besideCluster = "CLUSTER"

// TestForeignCluster runs the tests of a cluster of the user's on one that is made without nettoll.
func TestForeignCluster(t *testing.T) {
	turn.Alternate(t, 1, "kube", "network/kubernetes", "platform/kubernetes")
	besideForeignCluster(t, "TestBesideForeignCluster")
}

// besideForeignCluster runs a test of this program beside the cluster.
func besideForeignCluster(t *testing.T, test string) {
	t.Helper()
	requireCluster(t)
	for _, program := range []string{"flanneld", "curl", "openssl", "nft", "containerd", "etcd"} {
		if _, err := exec.LookPath(program); err != nil {
			platformtest.Require(t, program, err)
		}
	}
	script, err1 := filepath.Abs("testdata/cluster/cluster.sh")
	docs, err2 := filepath.Abs("../../docs")
	plugins, err3 := filepath.Abs("../../bin/cni")
	self, err4 := os.Executable()
	iferr.Fatal(t, errors.Join(err1, err2, err3, err4))
	cmd := exec.Command("bash", script, self, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), docsEnv+"="+docs, "CNI_BIN="+plugins)
	stays, err := cmd.StdinPipe() // the cluster ends with this process
	iferr.Fatal(t, err)
	defer stays.Close()
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil || !bytes.Contains(out, []byte("--- PASS: "+test+" ")) {
		t.Errorf("it ended with %v", err)
	}
	groups, err := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/theirs-%d", cmd.Process.Pid))
	if err != nil || len(groups) > 0 {
		t.Errorf("control groups are left: %v, %v", groups, err)
	}
}

// foreignAdmin is the cluster, as its administrator sees it.
func foreignAdmin(t *testing.T) admin {
	t.Helper()
	file := func(name string) string { return filepath.Join(os.Getenv(besideCluster), name) }
	authority, err1 := os.ReadFile(file("ca.crt"))
	own, err2 := tls.LoadX509KeyPair(file("admin.crt"), file("admin.key"))
	iferr.Fatal(t, errors.Join(err1, err2))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}}}}
	return admin{Client: client, url: "https://192.168.77.1:6443"}
}

// foreignRun returns the arguments of a run on the cluster.
func foreignRun(config, namespace string, more ...string) []string {
	return slices.Concat([]string{"run"}, more, []string{"--kubeconfig", config, "-n", namespace, "--image", os.Getenv("CLUSTER_IMAGE"), "-o", "x.ndjson"})
}

// about returns the resources of a rule of a Role.
func about(rule object) string { return strings.Join(rule["resources"].([]string), ",") }

// lets makes a namespace at a level of pod security, and gives a user there the rights of docs/kubernetes.md, except
// those to some resources.
func (a admin) lets(t *testing.T, namespace, level, user string, without ...string) {
	t.Helper()
	a.namespace(t, namespace, level)
	rules := slices.DeleteFunc(documentedRights(t), func(rule object) bool {
		return about(rule) == "nodes" || slices.Contains(without, about(rule))
	})
	const group = "rbac.authorization.k8s.io"
	rbac, meta := "/apis/"+group+"/v1/namespaces/"+namespace, object{"name": user}
	a.ask(t, http.MethodPost, rbac+"/roles", object{"metadata": meta, "rules": rules}, nil)
	a.ask(t, http.MethodPost, rbac+"/rolebindings", object{
		"metadata": meta, "roleRef": object{"apiGroup": group, "kind": "Role", "name": user}, "subjects": []object{{"apiGroup": group, "kind": "User", "name": user}},
	}, nil)
	a.knows(t, user, namespace, rules[0])
}

// letsSeeNodes gives a user the rights of docs/kubernetes.md to the whole cluster.
func (a admin) letsSeeNodes(t *testing.T, user string) {
	t.Helper()
	rules := slices.DeleteFunc(documentedRights(t), func(rule object) bool { return about(rule) != "nodes" })
	const group = "rbac.authorization.k8s.io"
	meta := object{"name": user}
	a.ask(t, http.MethodPost, "/apis/"+group+"/v1/clusterroles", object{"metadata": meta, "rules": rules}, nil)
	a.ask(t, http.MethodPost, "/apis/"+group+"/v1/clusterrolebindings", object{
		"metadata": meta, "roleRef": object{"apiGroup": group, "kind": "ClusterRole", "name": user}, "subjects": []object{{"apiGroup": group, "kind": "User", "name": user}},
	}, nil)
	a.knows(t, user, "", rules[0])
}

// bare checks that a namespace contains only what every namespace contains.
func (a admin) bare(t *testing.T, namespace string) {
	t.Helper()
	for _, kind := range []string{"api/v1/namespaces/%s/pods", "api/v1/namespaces/%s/services", "apis/batch/v1/namespaces/%s/jobs", "api/v1/namespaces/%s/secrets", "apis/networking.k8s.io/v1/namespaces/%s/networkpolicies"} {
		var all struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		a.ask(t, http.MethodGet, "/"+fmt.Sprintf(kind, namespace), nil, &all)
		for _, left := range all.Items {
			t.Errorf("left in %s: %s", fmt.Sprintf(kind, namespace), left.Metadata.Name)
		}
	}
}

// TestBesideForeignCluster runs beside the cluster, with which nettoll shares nothing.
func TestBesideForeignCluster(t *testing.T) {
	if os.Getenv(besideCluster) == "" {
		t.Skip("it is run by TestForeignCluster")
	}
	a := foreignAdmin(t)
	a.lets(t, "open", "privileged", "viewer")
	a.letsSeeNodes(t, "viewer")
	a.lets(t, "team", "restricted", "tester", "services")
	a.lets(t, "no-jobs", "privileged", "tester", "jobs")
	a.lets(t, "no-attach", "privileged", "tester", "pods/attach")
	a.lets(t, "no-slices", "privileged", "tester", "endpointslices")
	as := func(user, namespace string, more ...string) []string {
		return foreignRun(filepath.Join(os.Getenv(besideCluster), user+".kubeconfig"), namespace, more...)
	}
	quick := []string{"--placement", "free", "-t", "1s", "--warmup", "50ms", "--min-rounds", "1", "--max-rounds", "1"}

	t.Run("the suite", func(t *testing.T) {
		p, path := succeeds(t, as("viewer", "open", append(quick, "--suite", "kubernetes", "--node-daemons", "--node-privileged", "--expect", "vxlan")...)...)
		if want := "the context viewer@theirs (https://192.168.77.1:6443, "; !strings.Contains(p.err.String(), want) || !strings.Contains(p.err.String(), "namespace open, nodes alpha, beta\n") {
			t.Errorf("it does not say that it measures on %s…, namespace open, nodes alpha, beta:\n%s", want, p.err.String())
		}
		file := good(t, path)
		if v := file.Run.Settings.Venue; !reflect.DeepEqual(v, &record.Venue{NodeAgent: true, Expect: "vxlan"}) {
			t.Errorf("the run file says of the cluster: %+v", v)
		}
		if want := 2 * 3 * 2; len(file.Trials) != want { // on one node and two, three networks, two workloads
			t.Errorf("%d trials, want %d", len(file.Trials), want)
		}
		for _, trial := range file.Trials {
			device := "eth0"
			if trial.Cell.IsNative() {
				device = "ens5"
				if trial.Cell.Hosts == 1 {
					device = "lo"
				}
			}
			if len(trial.Path) == 0 {
				t.Errorf("%s: no path is proved", trial.Cell.Key())
			}
			var daemons []string
			if trial.CPU != nil {
				for _, d := range trial.CPU.NodeDaemons {
					daemons = record.AddNew(daemons, d.Name)
				}
			}
			if slices.Sort(daemons); !slices.Equal(daemons, []string{"containerd", "flanneld", "kube-proxy", "kubelet"}) {
				t.Errorf("%s: the CPU time is known of %v", trial.Cell.Key(), daemons)
			}
			var found []string // by agents on the nodes
			for _, h := range trial.Path {
				if _, got, _ := strings.Cut(h.Name, "/"); h.About != "" {
					found = append(found, h.Name+" "+h.About)
				} else if got != device {
					t.Errorf("%s: proved by %s, want %s", trial.Cell.Key(), h.Name, device)
				}
			}
			want := []string{
				"h2/veth-h2c1 veth (port of cni0)", "h2/cni0 bridge", "h2/flannel.1 vxlan", "h2/ens5 veth",
				"h1/ens5 veth", "h1/flannel.1 vxlan", "h1/cni0 bridge", "h1/veth-h1c1 veth (port of cni0)",
			}
			if trial.Cell.IsNative() {
				want = nil
			} else if trial.Cell.Hosts == 1 { // a bridge does not count what it sends from port to port, also where br_netfilter translates it
				want = []string{"h1/veth-h1c2 veth (port of cni0)", "h1/veth-h1c1 veth (port of cni0)"}
			}
			if !slices.Equal(found, want) {
				t.Errorf("%s: on the nodes it crosses %q, want %q", trial.Cell.Key(), found, want)
			}
		}
		a.bare(t, "open")
		out := &bytes.Buffer{}
		report := exec.Command("nettoll", "report", path)
		report.Stdout = out
		iferr.Error(t, report.Run())
		for _, want := range []string{"kubernetes:pod", "kubernetes:service", "h1 is the node alpha, h2 is the node beta", "flannel.1 (vxlan)", "that is what flannel says of its nodes", "translated by conntrack (DNAT) on h2", "BPF programs that ran whenever greetings crossed over IPv4: on h2", "What the daemons of the nodes use", "kube-proxy, % of a CPU"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the report does not say %q", want)
			}
		}
		t.Logf("%s", out)
	})

	t.Run("CPUs of their own", func(t *testing.T) {
		if os.Getenv("CLUSTER_CPUS") == "" {
			t.Skip("the nodes give pods no CPUs of their own: see cluster.sh")
		}
		_, path := succeeds(t, as("viewer", "open", append(quick, "kubernetes:pod", "--hosts", "2", "--workloads", "tcp_rr", "--turns=false", "--placement", "distinct", "--pod-cpus", "1")...)...)
		file := good(t, path)
		given := map[string]string{"cpu": "1", "memory": "1Gi"}
		for _, trial := range file.Trials {
			for _, e := range trial.Endpoints {
				if e.Resources == nil || !maps.Equal(e.Resources.Requests, given) || !maps.Equal(e.Resources.Limits, given) {
					t.Errorf("%s: %s has %+v, want %v", trial.Cell.Key(), e.Name, e.Resources, given)
				}
				if own := e.OwnCPUs(); len(own) != 1 || own[0] == 0 || !slices.Equal(e.CPUs, own) {
					t.Errorf("%s: %s has the CPUs %v for itself, and %v are noted", trial.Cell.Key(), e.Name, own, e.CPUs)
				}
			}
			if cpu := trial.CPU; cpu == nil || len(cpu.Client.CPUs) != 1 || len(cpu.Server.CPUs) != 1 {
				t.Errorf("%s: of the CPU time is noted: %+v", trial.Cell.Key(), cpu)
			}
			for _, w := range trial.Warnings {
				if w.Code == "shared-cpus" {
					t.Errorf("%s: %s", trial.Cell.Key(), w.Text)
				}
			}
		}
		out := &bytes.Buffer{}
		report := exec.Command("nettoll", "report", path)
		report.Stdout = out
		iferr.Error(t, report.Run())
		if want := "its pod has requests and limits cpu 1 and memory 1Gi, and CPUs of its own"; !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out)
		}
		a.bare(t, "open")
	})

	// Every node has one CPU less for pods than the machine has.
	t.Run("too many CPUs", func(t *testing.T) {
		all := os.Getenv("CLUSTER_CPUS")
		cpus, err := strconv.Atoi(all)
		if err != nil {
			t.Skip("pods may have every CPU: see cluster.sh")
		}
		for who, want := range map[[2]string]string{
			{"viewer", "open"}: "has no node that takes pods: alpha has too few CPUs for pods (" + strconv.Itoa(cpus-1) + ", and --pod-cpus asks for " + all + "), beta has ",
			{"tester", "team"}: "no node takes it: 0/2 nodes are available: ", // it does not see the nodes
		} {
			p := start(t, t.TempDir(), as(who[0], who[1], append(quick, "kubernetes:pod", "--hosts", "2", "--pod-cpus", all)...)...)
			p.ends(t, exitFailure)
			lines := strings.Split(strings.TrimSpace(p.err.String()), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "nettoll: ") || !strings.Contains(last, want) || !strings.Contains(last, "--pod-cpus") || len(lines) > 2 {
				t.Errorf("%s is told\n%s\nwant\n%s", who[0], p.err.String(), want)
			}
			t.Logf("%s", p.err.String())
			a.bare(t, who[1])
		}
	})

	t.Run("policies that nothing enforces", func(t *testing.T) {
		_, path := succeeds(t, as("viewer", "open", append(quick, "kubernetes:pod", "--hosts", "1", "--workloads", "tcp_rr", "--policies", "2")...)...)
		leftOut(t, path, map[string]string{"kubernetes:pod": "servers whose policies admit nobody still answer over IPv4"})
		a.bare(t, "open")
	})

	t.Run("zones and taints", func(t *testing.T) {
		node := func(name string, zone, taints any) {
			a.ask(t, http.MethodPatch, "/api/v1/nodes/"+name, object{
				"metadata": object{"labels": object{"topology.kubernetes.io/zone": zone}}, "spec": object{"taints": taints},
			}, nil)
		}
		node("alpha", "here", nil)
		node("beta", "there", []object{{"key": "dedicated", "effect": "NoExecute"}})
		defer node("alpha", nil, nil)
		defer node("beta", nil, nil)
		across := append(quick, "kubernetes:pod", "--hosts", "2", "--workloads", "tcp_rr")
		for want, flags := range map[string][]string{
			"it has alpha, and beta has the taint dedicated (--tolerate ignores it)":                                           nil,
			"has no two such nodes that take pods; it has alpha in here, beta has the taint dedicated (--tolerate ignores it)": {"--zones", "cross"},
			"has no two such nodes that take pods; it has alpha in here, beta in there":                                        {"--zones", "same", "--tolerate", "dedicated"},
		} {
			p := start(t, t.TempDir(), as("viewer", "open", append(across, flags...)...)...)
			p.ends(t, exitFailure)
			if said := p.err.String(); !strings.Contains(said, want) {
				t.Errorf("%v: it said\n%s\nwant\n%s", flags, said, want)
			}
		}
		p, path := succeeds(t, as("viewer", "open", append(across, "--zones", "cross", "--tolerate", "dedicated")...)...)
		if want := "namespace open, nodes alpha in here, beta in there\n"; !strings.Contains(p.err.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, p.err.String())
		}
		for _, trial := range good(t, path).Trials {
			for _, end := range trial.Endpoints {
				if want := map[string]string{"h1": "node alpha in here", "h2": "node beta in there"}[end.Host]; want == "" || !strings.HasSuffix(end.Platform, ", "+want) {
					t.Errorf("%s: %s on %s is recorded to be on %s", trial.Cell.Key(), end.Name, end.Host, end.Platform)
				}
			}
		}
		a.bare(t, "open")
	})

	// The user may neither make services, nor use hostNetwork, nor list nodes.
	t.Run("poor rights", func(t *testing.T) {
		asked := append(quick, "kubernetes:pod", "kubernetes:service", "kubernetes:headless", "kubernetes:nodeport", "--hosts", "2", "--workloads", "tcp_rr")
		refused := start(t, t.TempDir(), as("tester", "team", asked...)...)
		refused.ends(t, exitFailure)
		for _, want := range []string{
			"nettoll: the baseline cannot run here; name another (--baseline): ",
			"kubernetes:native: such pods in the namespace team: not supported here (needs a higher level of pod security there than \"restricted:latest\"",
			"kubernetes:service, kubernetes:headless, kubernetes:nodeport: measuring in the namespace team: not supported here (needs the right to create services, get services, delete services); fix: ",
		} {
			if said := refused.err.String(); strings.Count(said, want) != 1 {
				t.Errorf("it said\n%s\nwant once\n%s", said, want)
			}
		}
		// What can be measured there has no baseline but itself.
		p, path := succeeds(t, as("tester", "team", append(quick, "kubernetes:pod", "--baseline", "kubernetes:pod", "--hosts", "2", "--workloads", "tcp_rr")...)...)
		if want := "which its scheduler has chosen: without the right to list nodes"; strings.Count(p.err.String(), want) != 1 {
			t.Errorf("it does not say once %q:\n%s", want, p.err.String())
		}
		good(t, path)
		a.bare(t, "team")
	})
	t.Run("no-slices", func(t *testing.T) {
		p := start(t, t.TempDir(), as("tester", "no-slices", "kubernetes:service", "kubernetes:headless", "--dry-run")...)
		p.ends(t, exitOK)
		want := "kubernetes:headless: measuring in the namespace no-slices: not supported here (needs the right to list endpointslices)"
		if plan := p.out.String(); strings.Count(plan, "the right to") != 1 || !strings.Contains(plan, want) {
			t.Errorf("the plan is\n%s\nwant\n%s", plan, want)
		}
		p = start(t, t.TempDir(), as("tester", "no-slices", "kubernetes:service", "--services", "100")...)
		p.ends(t, exitUsage)
		want = "nettoll: --services takes EndpointSlices that nettoll writes: measuring in the namespace no-slices: not supported here (needs the right to create endpointslices, delete endpointslices)"
		if said := p.err.String(); strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, want) || !strings.HasSuffix(said, ", or leave --services out\n") {
			t.Errorf("it said\n%s\nwant\n%s", said, want)
		}
	})
	for flag, takes := range map[string]string{
		"--node-agent": "the network of its node (hostNetwork)", "--node-daemons": "the network and the processes of its node (hostNetwork, hostPID)",
		"--node-privileged": "the network of its node (hostNetwork) and the capabilities NET_ADMIN and SYS_ADMIN",
	} {
		t.Run("where pod security forbids what "+flag+" takes", func(t *testing.T) {
			p := start(t, t.TempDir(), as("tester", "team", "kubernetes:pod", flag)...)
			p.ends(t, exitUsage)
			want := "nettoll: " + flag + " takes a pod with " + takes + ": such pods in the namespace team: not supported here (needs a higher level of pod security there than \"restricted:latest\""
			if said := p.err.String(); strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, want) || !strings.HasSuffix(said, ", or leave "+flag+" out\n") {
				t.Errorf("it said\n%s\nwant\n%s", said, want)
			}
			a.bare(t, "team")
		})
	}
	for namespace, right := range map[string]string{"no-jobs": "create jobs, get jobs, delete jobs", "no-attach": "get pods/attach"} {
		t.Run(namespace, func(t *testing.T) {
			want := "kubernetes:native, kubernetes:pod: measuring in the namespace " + namespace + ": not supported here (needs the right to " + right + "); fix: have a role bound that has it"
			p := start(t, t.TempDir(), as("tester", namespace, "kubernetes:pod")...)
			p.ends(t, exitFailure)
			if said := p.err.String(); strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "nettoll: none of this can run here: "+want) {
				t.Errorf("it said\n%s\nwant\n%s", said, want)
			}
			p = start(t, t.TempDir(), as("tester", namespace, "kubernetes:pod", "--dry-run")...)
			p.ends(t, exitOK)
			if !strings.Contains(p.out.String(), "cannot run here\n  "+want) {
				t.Errorf("the plan is\n%s\nwant\n%s", p.out.String(), want)
			}
			a.bare(t, namespace)
		})
	}
}
