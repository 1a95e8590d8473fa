package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/turn"
	"nettoll/kube"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// inCluster is set for tests that run on the first node of a cluster of nettoll lab kubernetes.
const inCluster = "NETTOLL_TEST_IN_CLUSTER"

// TestOwnCluster runs the tests of a cluster of the user's on one that nettoll lab kubernetes starts.
func TestOwnCluster(t *testing.T) {
	turn.Alternate(t, 0, "kube", "network/kubernetes", "platform/kubernetes")
	requireCluster(t)
	_, err := exec.LookPath("metallb-controller")
	platformtest.Require(t, "metallb-controller", err)
	self, err := os.Executable()
	iferr.Fatal(t, err)
	cni := record.CNIBridge
	if enforces() {
		cni = record.CNICalico
	}
	cmd := exec.Command("nettoll", "lab", "kubernetes", "--nodes", "2", "--cni", cni, "--", self, "-test.run=^TestInCluster$", "-test.v")
	docs, err := filepath.Abs("../../docs")
	iferr.Fatal(t, err)
	cmd.Env = append(os.Environ(), inCluster+"=1", docsEnv+"="+docs)
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil || !bytes.Contains(out, []byte("--- PASS: TestInCluster ")) {
		t.Errorf("it ended with %v", err)
	}
}

// enforces reports whether the cluster enforces network policies. It does if Calico can connect its pods.
func enforces() bool {
	_, err := exec.LookPath("calico-cni")
	return err == nil
}

// admin asks the API server as its administrator.
type admin struct {
	*http.Client
	url, token, trust string
}

func administrator(t *testing.T) admin {
	t.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string
				Authority string `json:"certificate-authority"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	text := content(t, os.Getenv("KUBECONFIG")) // of the lab, in JSON
	iferr.Fatal(t, json.Unmarshal([]byte(text), &config))
	at := config.Clusters[0].Cluster
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(content(t, at.Authority)))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	return admin{client, at.Server, config.Users[0].User.Token, at.Authority}
}

type object = map[string]any

// ask sends a request, and reads the answer into out, unless that is nil.
func (a admin) ask(t *testing.T, method, path string, in, out any) {
	t.Helper()
	iferr.Fatal(t, a.request(method, path, in, out))
}

func (a admin) request(method, path string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, a.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := a.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > http.StatusCreated {
		return fmt.Errorf("%s %s: %s, %v: %s", method, path, resp.Status, err, said)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}

// balance runs the controller of MetalLB, which gives the services of a namespace load balancers, until the test ends. Pods
// never reach them, so nobody has to announce their addresses.
func (a admin) balance(t *testing.T, namespace string) {
	t.Helper()
	program, err := exec.LookPath("metallb-controller")
	iferr.Fatal(t, err)
	kinds, err := filepath.Glob(filepath.Join(filepath.Dir(program), "metallb", "*.yaml"))
	if err != nil || len(kinds) == 0 {
		t.Fatalf("beside %s there are no kinds of objects (%v): make kube", program, err)
	}
	for _, kind := range kinds {
		text, err := yaml.YAMLToJSON([]byte(content(t, kind)))
		iferr.Fatal(t, err)
		a.ask(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.RawMessage(text), nil)
	}
	pool := object{"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": object{"name": "pool"}, "spec": object{
		"addresses":         []string{"198.18.128.0/24", "2001:2:0:ffff::/112"},
		"serviceAllocation": object{"namespaces": []string{namespace}},
	}}
	until(t, "the cluster knows MetalLB's kinds", func() bool {
		return a.request(http.MethodPost, "/apis/metallb.io/v1beta1/namespaces/kube-system/ipaddresspools", pool, nil) == nil
	})
	cmd := exec.Command(program, "--webhook-mode=disabled", "--disable-cert-rotation", "--namespace=kube-system")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	iferr.Fatal(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("MetalLB: %s", said.String())
		}
	})
}

// closeBalancers has the cluster refuse services that everybody may dial at the address of their load balancer, or at ports of nodes.
func (a admin) closeBalancers(t *testing.T) {
	t.Helper()
	const admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
	meta := object{"name": "closed"}
	a.ask(t, http.MethodPost, admission+"ies", object{"metadata": meta, "spec": object{
		"matchConstraints": object{"resourceRules": []object{{
			"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE", "UPDATE"}, "resources": []string{"services"},
		}}},
		"validations": []object{{"expression": "object.spec.type != 'LoadBalancer' || size(object.spec.?loadBalancerSourceRanges.orValue([])) > 0 && !object.spec.?allocateLoadBalancerNodePorts.orValue(true)"}},
	}}, nil)
	a.ask(t, http.MethodPost, admission+"ybindings", object{"metadata": meta, "spec": object{
		"policyName": "closed", "validationActions": []string{"Deny"},
	}}, nil)
	open := object{"metadata": object{"name": "open"}, "spec": object{"type": "LoadBalancer", "ports": []object{{"port": 1}}}}
	until(t, "open load balancers are refused", func() bool {
		err := a.request(http.MethodPost, "/api/v1/namespaces/default/services?dryRun=All", open, nil)
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'closed'")
	})
}

// user makes a namespace at a level of pod security, and an account with the rights of docs/kubernetes.md there. It
// returns the kubeconfig.
func (a admin) user(t *testing.T, namespace, level string) string {
	t.Helper()
	a.namespace(t, namespace, level)
	meta, at, rbac := object{"name": "me"}, "/api/v1/namespaces/"+namespace+"/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/"+namespace
	a.ask(t, http.MethodPost, at, object{"metadata": meta}, nil)
	a.ask(t, http.MethodPost, rbac+"/roles", object{"metadata": meta, "rules": documentedRights(t)}, nil)
	a.ask(t, http.MethodPost, rbac+"/rolebindings", object{
		"metadata": meta, "roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "me"},
		"subjects": []object{{"kind": "ServiceAccount", "name": "me", "namespace": namespace}},
	}, nil)
	a.knows(t, "system:serviceaccount:"+namespace+":me", namespace, documentedRights(t)[0])
	var made struct{ Status struct{ Token string } }
	a.ask(t, http.MethodPost, at+"/me/token", object{"spec": object{}}, &made)
	text, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": namespace,
		"clusters": []object{{"name": "c", "cluster": object{"server": a.url, "certificate-authority": a.trust}}},
		"users":    []object{{"name": "me", "user": object{"token": made.Status.Token}}},
		"contexts": []object{{"name": namespace, "context": object{"cluster": "c", "user": "me", "namespace": namespace}}},
	})
	iferr.Fatal(t, err)
	path := filepath.Join(t.TempDir(), "config")
	iferr.Fatal(t, os.WriteFile(path, text, 0o600))
	return path
}

// namespace makes a namespace at a level of pod security, and returns when pods can be made there.
func (a admin) namespace(t *testing.T, name, level string) {
	t.Helper()
	a.ask(t, http.MethodPost, "/api/v1/namespaces", object{"metadata": object{"name": name, "labels": object{"pod-security.kubernetes.io/enforce": level}}}, nil)
	until(t, name+" has a service account", func() bool { // which controllers make
		return a.request(http.MethodGet, "/api/v1/namespaces/"+name+"/serviceaccounts/default", nil, nil) == nil
	})
}

// knows waits until the API server knows of a rule that was made for a user, in a namespace or, if that is empty, for the whole
// cluster: that takes it a moment.
func (a admin) knows(t *testing.T, user, namespace string, rule object) {
	t.Helper()
	first := func(of string) string { return rule[of].([]string)[0] }
	may := object{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": object{
		"user":               user,
		"resourceAttributes": object{"namespace": namespace, "group": first("apiGroups"), "resource": first("resources"), "verb": first("verbs")},
	}}
	until(t, user+" has rights", func() bool {
		var is struct{ Status struct{ Allowed bool } }
		a.ask(t, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", may, &is)
		return is.Status.Allowed
	})
}

// documentedRights returns the rules of the Role in docs/kubernetes.md.
func documentedRights(t *testing.T) (rules []object) {
	t.Helper()
	for line := range strings.Lines(content(t, filepath.Join(os.Getenv(docsEnv), "kubernetes.md"))) {
		line, isRule := strings.CutPrefix(strings.TrimSpace(line), "- {apiGroups: ")
		if !isRule {
			continue
		}
		list := func(after string) (words []string) {
			_, rest, _ := strings.Cut("apiGroups: "+line, after+": [")
			inside, _, _ := strings.Cut(rest, "]")
			for word := range strings.SplitSeq(inside, ",") {
				words = append(words, strings.Trim(strings.TrimSpace(word), `"`))
			}
			return words
		}
		rules = append(rules, object{"apiGroups": list("apiGroups"), "resources": list("resources"), "verbs": list("verbs")})
	}
	if len(rules) == 0 {
		t.Fatal("docs/kubernetes.md has no rules")
	}
	return rules
}

// docsEnv is where the documents are.
const docsEnv = "NETTOLL_TEST_DOCS"

// left returns the names of what nettoll has made in a namespace and is still there.
func (a admin) left(t *testing.T, namespace string) (names []string) {
	t.Helper()
	for path, selector := range map[string]string{
		"/api/v1/namespaces/%s/pods": "", "/api/v1/namespaces/%s/services": "", "/apis/batch/v1/namespaces/%s/jobs": "",
		// Those of services with selectors are the cluster's own.
		"/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices":   ",endpointslice.kubernetes.io/managed-by=nettoll",
		"/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies": "",
	} {
		var all struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		a.ask(t, http.MethodGet, fmt.Sprintf(path, namespace)+"?labelSelector="+kube.KeeperLabel+selector, nil, &all)
		for _, o := range all.Items {
			names = append(names, o.Metadata.Name)
		}
	}
	return names
}

// iptables inserts a rule into the node's table nat, or deletes it there.
func iptables(t *testing.T, how string, rule ...string) {
	t.Helper()
	if out, err := exec.Command("iptables", append([]string{"-w", "-t", "nat", how}, rule...)...).CombinedOutput(); err != nil {
		t.Errorf("iptables %s %v: %v: %s", how, rule, err, out)
	}
}

// leftOut checks that the trials of some networks were skipped for a reason that contains a text, and that all others
// have results.
func leftOut(t *testing.T, path string, why map[string]string) {
	t.Helper()
	file := read(t, path)
	seen := map[string]bool{}
	for _, trial := range file.Trials {
		want, skip := why[trial.Cell.Network]
		seen[trial.Cell.Network] = skip
		if skip && (trial.Status != record.Skipped || !strings.Contains(trial.Reason, want)) || !skip && trial.Status != record.OK {
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
		}
	}
	for network := range why {
		if !seen[network] {
			t.Errorf("there is no trial of %s", network)
		}
	}
}

// TestInCluster runs in a cluster that is used as a user's.
func TestInCluster(t *testing.T) {
	if os.Getenv(inCluster) == "" {
		t.Skip("it is run by TestOwnCluster")
	}
	a := administrator(t)
	restricted, open := a.user(t, "restricted", "restricted"), a.user(t, "open", "privileged")
	args := func(config string, rounds int, more ...string) []string {
		return slices.Concat([]string{"run"}, more, []string{
			"--kubeconfig", config, "--nodes", "h1,h2", "--image", os.Getenv("NETTOLL_IMAGE"), "-o", "x.ndjson",
			"--workloads", "tcp_rr", "--placement", "free", "-t", "1s", "--warmup", "50ms",
			"--min-rounds", strconv.Itoa(rounds), "--max-rounds", strconv.Itoa(rounds),
		})
	}
	var policies []string
	if enforces() {
		policies = []string{"--policies", "2"}
	}
	t.Run("every network", func(t *testing.T) {
		a.closeBalancers(t)
		a.balance(t, "open")
		_, path := succeeds(t, args(open, 1, append([]string{"kubernetes:pod", "kubernetes:service", "kubernetes:nodeport", "--hosts", "2", "-4", "-6", "--services", "3",
			"--congestion", "reno"}, policies...)...)...) // which pods may choose, and which can take turns
		_, inPod := succeeds(t, args(open, 1, "kubernetes:container", "kubernetes:headless", "kubernetes:hostport", "kubernetes:loadbalancer", "--hosts", "1")...)
		timed := map[string]bool{}
		for _, trial := range append(good(t, path).Trials, good(t, inPod).Trials...) {
			if trial.Cell.Hosts == 2 && (len(trial.Slices) == 0 || trial.Clocks == nil || trial.Clocks.Over != record.OverNetwork) {
				t.Errorf("%s: %d slices, clocks %+v, %v", trial.Cell.Key(), len(trial.Slices), trial.Clocks, trial.Warnings)
			}
			timed[trial.Cell.Network] = timed[trial.Cell.Network] || trial.InForce != nil && trial.InForce.Service > 0
			if policed := trial.Cell.Policies > 0 && !trial.Cell.IsNative(); trial.InForce != nil && (trial.InForce.Policy > 0) != policed {
				t.Errorf("%s: in force: %+v", trial.Cell.Key(), trial.InForce)
			}
			for _, h := range trial.Path {
				want := "eth0"
				switch {
				case trial.Cell.Network == "kubernetes:container" || trial.Cell.IsNative() && trial.Cell.Hosts == 1:
					want = "lo"
				case trial.Cell.IsNative():
					want = "" // of the machine
				}
				if device := h.Name[strings.Index(h.Name, "/")+1:]; !strings.HasPrefix(device, want) {
					t.Errorf("%s: proved by %s, want %s", trial.Cell.Key(), h.Name, want)
				}
			}
		}
		for network, measured := range timed { // if it had further services
			if want := network == "kubernetes:service" || network == "kubernetes:nodeport"; measured != want {
				t.Errorf("%s: it was measured when a service was in force: %v, want %v", network, measured, want)
			}
		}
		if left := a.left(t, "open"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("killed", func(t *testing.T) {
		n, r := crashes(t, 8, 4)
		var running sync.WaitGroup
		for i := range n {
			after := time.Duration(r.Int64N(int64(12 * time.Second)))
			if i%2 == 0 {
				after = time.Duration(rand.Int64N(int64(3 * time.Second)))
			}
			dir := t.TempDir()
			running.Go(func() {
				p := start(t, dir, args(restricted, 9, append([]string{"kubernetes:service", "--baseline", "kubernetes:pod", "--services", "2"}, policies...)...)...)
				time.Sleep(after)
				select {
				case <-p.done:
					t.Errorf("it has ended before it was killed: %s", p.err.String())
				default:
				}
				_ = p.Process.Kill()
				<-p.done
			})
		}
		running.Wait()
		t.Logf("killed, there are %v", a.left(t, "restricted"))
	})
	kills := time.Now()
	t.Run("without the right to hostNetwork and hostPort", func(t *testing.T) {
		tools := "engine"
		if _, err := exec.LookPath("netperf"); err == nil { // the image has none: it is sent
			tools += ",netperf"
		}
		_, path := succeeds(t, args(restricted, 1, "kubernetes:pod", "kubernetes:service", "kubernetes:hostport", "--baseline", "kubernetes:pod", "--hosts", "1", "--tools", tools)...)
		leftOut(t, path, map[string]string{"kubernetes:hostport": "needs a higher level of pod security there than \"restricted:latest\""})
	})
	t.Run("without a translation of hostPort, and without load balancers", func(t *testing.T) {
		// No rule for ports comes after this one.
		rule := []string{"PREROUTING", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "ACCEPT"}
		iptables(t, "-I", rule...)
		defer iptables(t, "-D", rule...)
		_, path := succeeds(t, args(open, 1, "kubernetes:hostport", "kubernetes:loadbalancer", "--hosts", "1")...)
		leftOut(t, path, map[string]string{
			"kubernetes:hostport":     "needs CNI plugins that translate it, such as portmap: ",
			"kubernetes:loadbalancer": "needs one that gives an address at once, as MetalLB does: it has no address, for 20s",
		})
	})
	t.Run("nothing is left of those that were killed", func(t *testing.T) {
		// A pod waits for 60 s to be attached to, and the cluster keeps a Job for 30 s; its controllers take their time.
		const most = 90*time.Second + patience
		for ; ; time.Sleep(time.Second) {
			left := a.left(t, "restricted")
			if len(left) == 0 {
				t.Logf("nothing is left after %v", time.Since(kills).Round(time.Second))
				return
			}
			if time.Since(kills) > most {
				t.Fatalf("left after %v: %v", most, left)
			}
		}
	})
}
