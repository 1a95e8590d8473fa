package kube_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/kube"
	"nettoll/platform"
)

// baseline is an API server that knows one node, h1, unless a test adds others, and has a namespace at the level baseline of pod
// security. It makes nothing, and keeps what it was to make, by the kind.
type baseline struct {
	*httptest.Server

	mu    sync.Mutex
	asked map[string][]object
	nodes []object
	lacks string // a verb and a resource to which the user has no right
	mute  bool   // requests for jobs get no answer
	says  string // why nothing is made; empty: it says only that
	tries string // why pods are refused when they are tried; empty: they are not
	group string // of its API
	hides bool   // nodes cannot be listed
}

func startBaseline(t *testing.T) *baseline {
	t.Helper()
	machine.Loopback(t)
	b := &baseline{asked: map[string][]object{}, nodes: []object{{"metadata": object{"name": "h1"}}}}
	b.Server = httptest.NewServer(http.HandlerFunc(b.answer))
	t.Cleanup(b.Close)
	return b
}

func (b *baseline) answer(w http.ResponseWriter, r *http.Request) {
	said := object{}
	if r.Method == http.MethodGet && r.ContentLength != 0 {
		http.Error(w, "as of a strict proxy", http.StatusBadRequest)
		return
	}
	switch kind := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
	case kind == "version":
		said["gitVersion"] = "v1"
	case strings.HasPrefix(r.URL.Path, "/apis/") && kind == b.group:
		said["name"] = kind
	case kind == "nodes" && b.hides:
		said = object{"kind": "Status", "code": http.StatusForbidden, "message": `User "me" cannot list resource "nodes" in API group ""`}
		w.WriteHeader(http.StatusForbidden)
	case kind == "nodes":
		said["items"] = b.nodes
	case kind == "selfsubjectaccessreviews":
		var asked struct {
			Spec struct {
				ResourceAttributes struct{ Verb, Resource string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		of := asked.Spec.ResourceAttributes
		said["status"] = object{"allowed": of.Verb+" "+of.Resource != b.lacks}
	default:
		var o object
		text := new(strings.Builder)
		if r.ContentLength == 0 {
			break
		}
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(text).Encode(o)
		b.mu.Lock()
		b.asked[kind] = append(b.asked[kind], o)
		b.mu.Unlock()
		if kind == "jobs" && b.mute {
			panic(http.ErrAbortHandler)
		}
		forbids := strings.Contains(text.String(), `"hostPort"`) || strings.Contains(text.String(), `"hostNetwork":true`)
		tried := kind == "pods" && r.URL.Query().Get("dryRun") == "All"
		if tried && !forbids && b.tries == "" {
			break
		}
		said = object{"kind": "Status", "code": http.StatusForbidden, "message": "nothing is made here"}
		if says := cmp.Or(b.tries, b.says); says != "" {
			said["message"] = says
		}
		if forbids {
			said["message"] = `pods "try" is forbidden: violates PodSecurity "baseline:latest": host namespaces or hostPort`
		}
		w.WriteHeader(http.StatusForbidden)
	}
	_ = json.NewEncoder(w).Encode(said)
}

// own returns the cluster as that of a user who names h1.
func (b *baseline) own(t *testing.T) *kube.Own {
	t.Helper()
	return b.ownOf(t, "h1")
}

// ownOf is own for a user who names nodes.
func (b *baseline) ownOf(t *testing.T, nodes ...string) *kube.Own {
	t.Helper()
	return b.with(t, kube.OwnOptions{Nodes: nodes})
}

// with is own for a user with some options.
func (b *baseline) with(t *testing.T, o kube.OwnOptions) *kube.Own {
	t.Helper()
	c := theirs{Cluster: &kube.Cluster{Server: &kube.Server{API: kube.APIBy(b.Client(), b.URL)}}}
	o.Login, o.Run = kube.Login{Config: c.writeConfig(t, "team", object{"token": "t"})}, "tried0123456"
	return kube.NewOwn(o)
}

// TestPodsAreTried checks that what pods need besides ordinary ones is tried before anything is made.
func TestPodsAreTried(t *testing.T) {
	own := startBaseline(t).own(t)
	for what, c := range map[string]struct {
		spec    kube.PodSpec
		refused bool
	}{
		"ordinary":    {kube.PodSpec{}, false},
		"hostNetwork": {kube.PodSpec{HostNetwork: true}, true},
		"hostPort":    {kube.PodSpec{HostPorts: kube.Ports{First: 20001, Last: 20002}}, true},
	} {
		err := own.Allows(t.Context(), kube.Needs{Pod: c.spec})
		if !c.refused && err != nil || c.refused && !errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		} else if c.refused {
			refused(t, err, `needs a higher level of pod security there than "baseline:latest"`)
		}
	}
}

// TestRightsOfNetworks checks that networks are refused for the rights that they need, and no others.
func TestRightsOfNetworks(t *testing.T) {
	needs := []kube.Needs{{}, {Services: true}, {Services: true, Headless: true}, {Services: true, Headless: true, Further: true}, {Services: true, Headless: true, Further: true, Policies: true}}
	for lacks, first := range map[string]int{
		"create services": 1, "list endpointslices": 2, "create endpointslices": 3, "delete endpointslices": 3, "delete networkpolicies": 4, "list networkpolicies": 5,
	} {
		b := startBaseline(t)
		b.lacks = lacks
		own := b.own(t)
		for i, n := range needs {
			if err := own.Allows(t.Context(), n); i < first {
				iferr.Error(t, err)
			} else {
				refused(t, err, "measuring in the namespace team: not supported here (needs the right to "+lacks+")")
			}
		}
	}
}

// TestCPUsOfPodsAreTried checks what pods ask for that are to have CPUs of their own, and that a LimitRange and nodes that have too
// few are named before anything is made.
func TestCPUsOfPodsAreTried(t *testing.T) {
	b := startBaseline(t)
	node := func(name, cpus string) object {
		return object{"metadata": object{"name": name}, "status": object{"allocatable": object{"cpu": cpus}}}
	}
	b.nodes = []object{node("h1", "1930m"), node("h2", "4"), node("h3", "3920m"), node("h4", "?")}
	for cpus, want := range map[int]string{0: "nodes h1, h2", 2: "nodes h2, h3", 4: "nodes h2, h4"} {
		own := b.with(t, kube.OwnOptions{PodCPUs: cpus})
		iferr.Fatal(t, own.Probe(t.Context()))
		if got := own.Where(); !strings.HasSuffix(got, want) {
			t.Errorf("%d CPUs: %s, want %s", cpus, got, want)
		}
	}
	b.nodes = b.nodes[:2]
	refused(t, b.with(t, kube.OwnOptions{PodCPUs: 16}).Probe(t.Context()),
		"has no node that takes pods: h1 has too few CPUs for pods (1930m, and --pod-cpus asks for 16), h2 has too few CPUs for pods (4, and --pod-cpus asks for 16)")
	refused(t, b.with(t, kube.OwnOptions{PodCPUs: 2, Nodes: []string{"h1"}}).Probe(t.Context()), "--nodes: h1 takes no pods: it has too few CPUs for pods (1930m, and --pod-cpus asks for 2); name another")

	o := b.with(t, kube.OwnOptions{PodCPUs: 3})
	iferr.Fatal(t, o.Allows(t.Context(), kube.Needs{Pod: kube.PodSpec{CPUs: 3}}))
	said, err := json.Marshal(b.asked["pods"])
	iferr.Fatal(t, err)
	if want := `"resources":{"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}`; !strings.Contains(string(said), want) {
		t.Errorf("no %s in %s", want, said)
	}
	const cpu, memory = "maximum cpu usage per Container is 1, but limit is 3", "maximum memory usage per Container is 512Mi, but limit is 1Gi"
	for says, want := range map[string]string{cpu: cpu, "[" + cpu + ", " + memory + "]": cpu + ", " + memory} {
		b.tries = `pods "x" is forbidden: ` + says
		err = o.Allows(t.Context(), kube.Needs{Pod: kube.PodSpec{CPUs: 3}})
		refused(t, err, "needs other bounds there than those of its LimitRange: "+want+")")
		if !errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%v is not that something is missing", err)
		}
	}
}

// TestThoseWhoRefuse checks that whoever refuses nettoll's objects is named: admission webhooks that deny them, or do not answer,
// and policies. TestCluster has a webhook that does not answer.
func TestThoseWhoRefuse(t *testing.T) {
	for name, says := range map[string]string{
		"strict.example.com": `admission webhook "strict.example.com" denied the request: no pods from outside`,
		"mute.example.com":   `Internal error occurred: failed calling webhook "mute.example.com": failed to call webhook: Post "https://x/": EOF`,
		"closed":             `jobs.batch "x" is forbidden: ValidatingAdmissionPolicy 'closed' with binding 'closed' denied request: no jobs`,
	} {
		b := startBaseline(t)
		b.says = says
		err := b.own(t).Begin(t.Context())
		needs := "the consent of the admission webhook or policy "
		if strings.Contains(says, "failed calling") {
			needs = "an answer of the admission webhook "
		}
		refused(t, err, "not supported here (needs "+needs+name+")")
		if !errors.Is(err, platform.ErrUnsupported) {
			t.Errorf("%s: %v is not that something is missing", name, err)
		}
	}
}

// TestNetworksAreNotGivenUp checks that what may be otherwise a moment later is no lack of the cluster's once pods were taken: a quota
// that others use, too, and a webhook that does not answer. A webhook that denies pods is.
func TestNetworksAreNotGivenUp(t *testing.T) {
	for says, want := range map[string]struct {
		text  string
		lacks bool
	}{
		`pods "x" is forbidden: exceeded quota: tight, requested: pods=1, used: pods=10, limited: pods=10`: {
			"room in the quota there: tight, requested: pods=1, used: pods=10, limited: pods=10); build fewer networks at once (--together), raise the quota", false},
		`pods "x" is forbidden: failed quota: tight: must specify limits.cpu for: h1c1`:   {"needs what the quota there wants: tight: must specify limits.cpu for: h1c1)", true},
		`Internal error occurred: failed calling webhook "mute.example.com": EOF`:         {"needs an answer of the admission webhook mute.example.com)", false},
		`admission webhook "strict.example.com" denied the request: no pods from outside`: {"needs the consent of the admission webhook or policy strict.example.com)", true},
	} {
		own := startBaseline(t).own(t)
		iferr.Fatal(t, own.Probe(t.Context()))
		err := own.RefusedPods(says)
		refused(t, err, want.text)
		if errors.Is(err, platform.ErrUnsupported) != want.lacks {
			t.Errorf("%s: that something is missing: %v", says, !want.lacks)
		}
	}
}

// TestUsersOfPods checks that pods name their user, except on OpenShift, which gives each namespace users of its own.
func TestUsersOfPods(t *testing.T) {
	for group, names := range map[string]bool{"": true, "security.openshift.io": false} {
		b := startBaseline(t)
		b.group = group
		_ = b.own(t).Begin(t.Context()) // it makes nothing
		made, err := json.Marshal(b.asked["jobs"])
		iferr.Fatal(t, err)
		if !strings.Contains(string(made), `"runAsNonRoot":true`) || strings.Contains(string(made), `"runAsUser"`) != names || strings.Contains(string(made), `"runAsGroup"`) != names {
			t.Errorf("API %q: %s", group, made)
		}
	}
}

// TestKeeperIsOnTheNodes checks that the first pod is put onto the nodes that are used, which have the CPUs and the system that there
// is an agent for; if they are not known, onto one with Linux.
func TestKeeperIsOnTheNodes(t *testing.T) {
	for _, lacks := range []string{"", "list nodes"} {
		b := startBaseline(t)
		b.nodes = append(b.nodes, object{"metadata": object{"name": "h2"}})
		b.hides = lacks != ""
		_ = b.with(t, kube.OwnOptions{}).Begin(t.Context())
		made, err := json.Marshal(b.asked["jobs"])
		iferr.Fatal(t, err)
		for want, is := range map[string]bool{`{"matchFields":[{"key":"metadata.name","operator":"In","values":["h2"]}]}`: !b.hides, `{"kubernetes.io/os":"linux"}`: true} {
			if strings.Contains(string(made), want) != is {
				t.Errorf("nodes hidden: %v: %s", b.hides, made)
			}
		}
	}
}

// TestPodsNameTheirNodes checks that trials on different nodes differ in what is recorded of where they were.
func TestPodsNameTheirNodes(t *testing.T) {
	own := startBaseline(t).own(t)
	iferr.Fatal(t, own.Probe(t.Context()))
	if got, want := own.AboutPod("h1"), "a Kubernetes cluster of the user's, v1, node h1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestThreeNodes checks that a user whose cluster has three nodes is told to name them, since nettoll looks for two.
func TestThreeNodes(t *testing.T) {
	b := startBaseline(t)
	for _, name := range []string{"h2", "h3"} {
		b.nodes = append(b.nodes, object{"metadata": object{"name": name}})
	}
	_, err := b.ownOf(t).Use(t.Context(), 3)
	refused(t, err, "kubernetes on 3 hosts: not supported here (needs 3 nodes)")
	var un *platform.Unsupported
	if !errors.As(err, &un) || !strings.HasPrefix(un.Remedy, "name each with --nodes") {
		t.Errorf("%+v", un)
	}
}

// TestNodesAreFound checks which nodes are used, by their zones and taints.
func TestNodesAreFound(t *testing.T) {
	b := startBaseline(t)
	node := func(name, zone, kind, taint string) object {
		n := object{"metadata": object{"name": name, "labels": object{"topology.kubernetes.io/zone": zone, "node.kubernetes.io/instance-type": kind}}}
		if taint != "" {
			n["spec"] = object{"taints": []object{{"key": taint, "effect": "NoExecute"}}}
		}
		return n
	}
	b.nodes = []object{node("h1", "a", "large", ""), node("h2", "b", "small", ""), node("h3", "b", "large", ""), node("h4", "a", "small", ""), node("h0", "b", "small", "dedicated")}
	for _, c := range []struct {
		zones, tolerate, want string
		nodes                 int // of the cluster
	}{
		{"", "", "nodes h1, h3", 5},
		{"", "dedicated", "nodes h0, h2", 5},
		{kube.OtherZone, "", "nodes h1 in a, h3 in b", 5},
		{kube.SameZone, "", "nodes h1 in a, h4 in a", 5}, // of no kind that both have
		{kube.SameZone, "dedicated", "nodes h0 in b, h2 in b", 5},
		{kube.OtherZone, "", "nodes h1 in a, h2 in b", 2},
		{kube.SameZone, "", "--zones same: the cluster of the context theirs has no two such nodes that take pods; it has h1 in a, h2 in b", 2},
	} {
		o := kube.OwnOptions{Zones: c.zones}
		if c.tolerate != "" {
			o.Tolerate = []string{c.tolerate}
		}
		all := b.nodes
		b.nodes = all[:c.nodes]
		own := b.with(t, o)
		err := own.Probe(t.Context())
		b.nodes = all
		got := own.Where()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
	o := b.with(t, kube.OwnOptions{Tolerate: []string{"dedicated"}})
	iferr.Fatal(t, o.Allows(t.Context(), kube.Needs{}))
	if _, err := o.Use(t.Context(), 1); err == nil {
		t.Fatal("a pod was made")
	}
	said, err := json.Marshal(b.asked)
	iferr.Fatal(t, err)
	if want := `"tolerations":[{"key":"dedicated","operator":"Exists"}]`; !strings.Contains(string(said), want) {
		t.Errorf("no %s in %s", want, said)
	}
}

// TestWhatWasThereOnceIsTriedAgain checks that a cluster is asked again for policies and load balancers if it was late with them,
// unless it has never had any.
func TestWhatWasThereOnceIsTriedAgain(t *testing.T) {
	own := startBaseline(t).own(t)
	iferr.Fatal(t, own.Probe(t.Context()))
	c, late := own.Any(), errors.New("it is late")
	c.Enforces("pod")
	for network, again := range map[string]bool{"pod": true, "nodeport": false} {
		refused(t, c.Ignores(network, late), "a network policy on the cluster of the context theirs: not supported here (needs a network of pods that enforces it: it is late)")
		if err := c.Unpoliced(network); (err == nil) != again {
			t.Errorf("policies of %s are tried again: %t, want %t", network, err == nil, again)
		}
	}
	c.Enforces("nodeport") // a network that was built at the same time
	iferr.Error(t, c.Unpoliced("nodeport"))
	iferr.Error(t, own.NextBalancer(nil, late))
	iferr.Error(t, startBaseline(t).own(t).NextBalancer(late, nil))
	if err := startBaseline(t).own(t).NextBalancer(late); !errors.Is(err, late) {
		t.Errorf("load balancers are tried again: %v", err)
	}
}

// TestJobWithoutAnAnswer checks that a job is removed that may have been made although the request for it got no answer: its pod
// might be one that cannot be started, which would stay for a day.
func TestJobWithoutAnAnswer(t *testing.T) {
	b := startBaseline(t)
	b.mute = true
	if err := b.own(t).Begin(t.Context()); err == nil || len(b.asked["jobs"]) != 1 {
		t.Fatalf("%v, %d jobs were to be made", err, len(b.asked["jobs"]))
	}
	name, _ := b.asked["jobs"][0]["metadata"].(object)["name"].(string)
	if n := len(b.asked[name]); n != 1 {
		t.Errorf("%d requests about %q", n, name)
	}
}

// TestWhatPodsAre checks the image that pods have unless the user names another, and that they and the job end with nettoll.
func TestWhatPodsAre(t *testing.T) {
	b := startBaseline(t)
	refused(t, b.own(t).Begin(t.Context()), "nothing is made here")
	ends := []string{`"image":"busybox"`, `"stdin":true,"stdinOnce":true`, `"restartPolicy":"Never"`}
	for kind, want := range map[string][]string{"pods": ends, "jobs": append(ends, `"backoffLimit":0`, `"ttlSecondsAfterFinished":30`)} {
		said, err := json.Marshal(b.asked[kind])
		iferr.Fatal(t, err)
		for _, one := range want {
			if !strings.Contains(string(said), one) {
				t.Errorf("no %s in %s: %s", one, kind, said)
			}
		}
	}
}

// TestPodsStayForLongTrials checks that networks may stand for half a day at least on pods that belong to a keeper, and what is
// said where that was not enough: the cluster only says that the keeper is gone.
func TestPodsStayForLongTrials(t *testing.T) {
	b := startBaseline(t)
	own := b.own(t)
	refused(t, own.Begin(t.Context()), "nothing is made here")
	for _, kind := range []string{"pods", "jobs"} { // the pod is only tried
		if len(b.asked[kind]) != 1 {
			t.Fatalf("%d %s were to be made", len(b.asked[kind]), kind)
		}
		spec := b.asked[kind][0]["spec"].(object)
		if got, _ := spec["activeDeadlineSeconds"].(float64); got < (24 * time.Hour).Seconds() { // new ones are made after half of that
			t.Errorf("%s end after %v s", kind, got)
		}
	}
	refused(t, own.Outlived(23*time.Hour), "has ended nettoll's pods: ")
	refused(t, own.Outlived(25*time.Hour), "the cluster of the context theirs has ended nettoll's pods, which may stay there for a day, and were still in use: ")
}
