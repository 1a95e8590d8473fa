package kube_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/bootstrap"
	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/kube"
	"nettoll/platform"
	"nettoll/sampler"
)

// theirs is a private cluster in place of a user's. The user has only the rights in docs/kubernetes.md.
type theirs struct {
	*kube.Cluster
	agents *bootstrap.Agents
}

// rights are those of docs/kubernetes.md.
func rights(t *testing.T) []any {
	t.Helper()
	return []any{
		rule("batch", "jobs", "create", "get", "delete"), rule("", "pods", "create", "get", "list", "delete"),
		rule("", "pods/attach", "create", "get"), rule("", "services", "create", "get", "delete"),
		rule("discovery.k8s.io", "endpointslices", "create", "delete"), rule("discovery.k8s.io", "endpointslices", "list"),
	}
}

func rule(group, resource string, verbs ...string) map[string]any {
	return map[string]any{"apiGroups": []string{group}, "resources": []string{resource}, "verbs": verbs}
}

type object = map[string]any

// makes makes an object as the administrator.
func (c theirs) makes(t *testing.T, path string, o object) (made struct{ Status struct{ Token string } }) {
	t.Helper()
	if err := c.Server.Ask(t.Context(), http.MethodPost, path, o, &made); err != nil {
		t.Fatalf("make %s: %v", path, err)
	}
	return made
}

// team makes a namespace, and an account with the rights of docs/kubernetes.md there. It returns the kubeconfig.
func (c theirs) team(t *testing.T, namespace string) string {
	t.Helper()
	c.makes(t, "/api/v1/namespaces", object{"metadata": object{"name": namespace, "labels": object{"pod-security.kubernetes.io/enforce": "restricted"}}})
	config := c.user(t, namespace, "me", rights(t))
	for range 600 { // pods are refused while there is no service account
		if err := c.Server.Ask(t.Context(), http.MethodGet, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", nil, nil); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return config
}

// user makes an account with rules in a namespace, and returns its kubeconfig.
func (c theirs) user(t *testing.T, namespace, name string, rules []any) string {
	t.Helper()
	at, rbac := "/api/v1/namespaces/"+namespace+"/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/namespaces/"+namespace
	meta := object{"name": name}
	c.makes(t, at, object{"metadata": meta})
	c.makes(t, rbac+"/roles", object{"metadata": meta, "rules": rules})
	c.makes(t, rbac+"/rolebindings", object{
		"metadata": meta, "roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
		"subjects": []object{{"kind": "ServiceAccount", "name": name, "namespace": namespace}},
	})
	first := func(of string) string { return rules[0].(object)[of].([]string)[0] }
	may := object{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": object{
		"user":               "system:serviceaccount:" + namespace + ":" + name,
		"resourceAttributes": object{"namespace": namespace, "group": first("apiGroups"), "resource": first("resources"), "verb": first("verbs")},
	}}
	// The API server knows of rights a moment after they were made.
	iferr.Fatal(t, await.Until(t.Context(), patience, 20*time.Millisecond, func(ctx context.Context) (missing, err error) {
		var is struct{ Status struct{ Allowed bool } }
		err = c.Server.Ask(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", may, &is)
		if !is.Status.Allowed {
			missing = fmt.Errorf("%s has no rights in %s", name, namespace)
		}
		return missing, err
	}))
	token := c.makes(t, at+"/"+name+"/token", object{"spec": object{}}).Status.Token
	return c.writeConfig(t, namespace, object{"token": token})
}

// byProgram returns the credentials of a user that a program prints, as those of clouds do.
func byProgram(script string) object {
	return object{"exec": object{"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": []string{"-c", script}, "interactiveMode": "Never"}}
}

func (c theirs) writeConfig(t *testing.T, namespace string, user object) string {
	t.Helper()
	text, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "theirs",
		"clusters": []object{{"name": "theirs", "cluster": object{"server": c.Server.URL, "certificate-authority": c.Server.Trust}}},
		"users":    []object{{"name": "me", "user": user}},
		"contexts": []object{{"name": "theirs", "context": object{"cluster": "theirs", "user": "me", "namespace": namespace}}},
	})
	iferr.Fatal(t, err)
	path := filepath.Join(t.TempDir(), "config")
	iferr.Fatal(t, os.WriteFile(path, text, 0o600))
	return path
}

// tokenOf returns the token in a kubeconfig that writeConfig has written.
func tokenOf(t *testing.T, config string) string {
	t.Helper()
	text, err := os.ReadFile(config)
	iferr.Fatal(t, err)
	var is struct {
		Users []struct{ User struct{ Token string } }
	}
	iferr.Fatal(t, json.Unmarshal(text, &is))
	return is.Users[0].User.Token
}

// runs is how many times clusters were used as a user's.
var runs atomic.Int32

// own returns the cluster as a user's.
func (c theirs) own(t *testing.T, config string, change func(*kube.OwnOptions)) *kube.Own {
	t.Helper()
	o := kube.OwnOptions{
		Login: kube.Login{Config: config, Dial: c.dial},
		Nodes: []string{"h1"}, Image: kube.AgentImage, Run: fmt.Sprintf("own%07d", runs.Add(1)),
		Agents: c.agents,
	}
	if change != nil {
		change(&o)
	}
	own := kube.NewOwn(o)
	t.Cleanup(func() { iferr.Error(t, own.Close(context.Background())) })
	return own
}

// left returns the names of what nettoll has made in a namespace and is still there.
func (c theirs) left(t *testing.T, namespace string) []string {
	t.Helper()
	return c.leftOf(t, namespace, "")
}

// leftOf is left for the objects of one run, by its id.
func (c theirs) leftOf(t *testing.T, namespace, run string) (names []string) {
	t.Helper()
	for path, selector := range map[string]string{
		"/api/v1/namespaces/%s/pods": "", "/api/v1/namespaces/%s/services": "", "/apis/batch/v1/namespaces/%s/jobs": "",
		// Those of services with selectors are the cluster's own.
		"/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices": ",endpointslice.kubernetes.io/managed-by=nettoll",
	} {
		var all struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		iferr.Fatal(t, c.Server.Ask(t.Context(), http.MethodGet, fmt.Sprintf(path, namespace)+"?labelSelector="+kube.KeeperLabel+selector, nil, &all))
		for _, o := range all.Items {
			if strings.Contains(o.Metadata.Name, run) {
				names = append(names, o.Metadata.Name)
			}
		}
	}
	return names
}

// patience bounds every wait for the cluster; it is not an expectation. A pod whose agent was on its way when nettoll was stopped
// waits for it for 5 minutes.
const patience = 8 * time.Minute

// empty waits until nothing is left.
func (c theirs) empty(t *testing.T, namespace string) {
	t.Helper()
	c.keeps(t, namespace, 0)
}

// keeps waits until a number of objects are left: the cluster removes what belongs to a job after the job itself.
func (c theirs) keeps(t *testing.T, namespace string, number int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		left := c.left(t, namespace)
		if len(left) == number {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left after %v: %v, want %d", patience, left, number)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, want := range words {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant   %s", err, want)
		}
	}
}

// asOwn uses a private cluster as if it were the user's.
func (c theirs) asOwn(t *testing.T) {
	config := c.team(t, "team")
	var victims []*victim
	t.Run("at once", func(t *testing.T) { // most of the time is spent waiting
		t.Run("killed", func(t *testing.T) {
			t.Parallel()
			victims = c.kill(t, c.team(t, "killed"), "killed")
		})
		c.uses(t)
		c.lacks(t, config)
	})
	for _, v := range victims {
		defer v.bury()
		t.Logf("%v after %d writes: left %v", v.by, v.writes, v.left)
	}
	t.Run("refusals", func(t *testing.T) { c.refusals(t, config) })

	// What was left when the connection was cut, and what victims left, is gone, too.
	c.empty(t, "cut")
	c.empty(t, "killed")
}

// uses uses the cluster at the same time in several ways, each in a namespace of its own.
func (c theirs) uses(t *testing.T) {
	t.Run("the connection is cut", func(t *testing.T) {
		t.Parallel()
		var line wire
		own := c.own(t, c.team(t, "cut"), func(o *kube.OwnOptions) { o.Dial = line.through(o.Dial) })
		used, err := own.Use(t.Context(), 1)
		iferr.Fatal(t, err)
		pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0]})
		iferr.Fatal(t, err)
		line.cut(0)
		refused(t, pods[0].Containers[0].Ended(t), "agent has ended")
		refused(t, pods[0].Fault(t.Context()), "the connection to pod "+pods[0].Name+" was cut, by the API server or on the way to it")
		for range 100 { // the keeper is another connection
			if err = used.Fault(t.Context()); err != nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		refused(t, err, "the connections to nettoll's pods on the cluster of the context theirs were cut, by its API server or on the way to it")
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second) // in which it asks once at least
		defer cancel()
		_, err = own.Use(soon, 1) // it waits for the API server
		refused(t, err, "the cluster of the context theirs does not answer at "+c.Server.URL, errCut.Error())
		first := line.mend() // what is asked next
		again, err := own.Use(t.Context(), 1)
		iferr.Fatal(t, err)
		if pods, err = again.Run(t.Context(), kube.PodSpec{Node: again.Nodes[0]}); err != nil {
			t.Fatal(err)
		}
		line.cut(first, first+1) // only requests get no answer, as where one of several API servers restarts
		time.AfterFunc(time.Second, func() { line.mend() })
		iferr.Error(t, again.Remove(t.Context()))
		refused(t, pods[0].Containers[0].Ended(t), "agent has ended")
		iferr.Error(t, again.Fault(t.Context()))
		iferr.Error(t, own.Close(t.Context()))
	})

	t.Run("pods", func(t *testing.T) {
		t.Parallel()
		own := c.own(t, c.team(t, "pods"), func(o *kube.OwnOptions) { o.Nodes = []string{"h2", "h1"} })
		used, err := own.Use(t.Context(), 2)
		iferr.Fatal(t, err)
		pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0], Containers: 2}, kube.PodSpec{Node: used.Nodes[1]})
		iferr.Fatal(t, err)
		iferr.Fatal(t, used.Expose(t.Context(), 0, pods[0], kube.Ports{First: 20001, Last: 20002}, kube.ClusterIP))
		for _, six := range []bool{false, true} {
			if !pods[0].Addr(six).IsValid() || !pods[0].HostAddr(six).IsValid() || !used.ServiceAt(0, six).IsValid() {
				t.Errorf("IPv6 %v: pod %v on %v, service %v", six, pods[0].Addr(six), pods[0].HostAddr(six), used.ServiceAt(0, six))
			}
		}
		if got, want := pods[0].HostAddr(false), c.Nodes[1].Uplink().Addr4.Addr(); got != want {
			t.Errorf("the first pod is on %v, want %v", got, want)
		}
		// Ports of nodes that services cannot have, and that somebody has.
		var taken *kube.PortsTaken
		err = used.Expose(t.Context(), 1, pods[0], kube.Ports{First: 40001, Last: 40001}, kube.NodePort)
		if !errors.As(err, &taken) || taken.First != 20000 || taken.Last != 32767 {
			t.Errorf("ports out of range: %v, %+v", err, taken)
		}
		for i, free := range []bool{true, false} {
			taken = nil
			err := used.Expose(t.Context(), 2+i, pods[0], kube.Ports{First: 30100, Last: 30101}, kube.NodePort)
			if free && err != nil || !free && (!errors.As(err, &taken) || taken.Last != 0) {
				t.Errorf("free %v: %v", free, err)
			}
		}
		agents, end, err := own.Kernels(t.Context(), 2)
		iferr.Fatal(t, err)
		if control, err := sampler.AskCongestion(t.Context(), agents...); len(agents) != 2 || control == "" || err != nil {
			t.Errorf("%d nodes say that pods can use %q, %v", len(agents), control, err)
		}
		end()
		// Everything belongs to the keeper from the beginning.
		iferr.Fatal(t, used.AddFurther(t.Context(), 4, 3, pods[0], 20001))
		if left := c.left(t, "pods"); len(left) != 17 { // a job with its pod, two pods, two that have ended, five services, six endpoint slices
			t.Errorf("there are %v", left)
		}
		iferr.Error(t, own.Close(t.Context()))
		c.empty(t, "pods")
	})

	t.Run("behind a proxy without WebSockets", func(t *testing.T) {
		t.Parallel()
		config := c.team(t, "behind")
		there, upgrades := c.proxied(t)
		own := c.own(t, there.writeConfig(t, "behind", object{"token": tokenOf(t, config)}), func(o *kube.OwnOptions) { o.Dial = nil })
		used, err := own.Use(t.Context(), 1)
		iferr.Fatal(t, err)
		pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0]})
		iferr.Fatal(t, err)
		if control, err := sampler.AskCongestion(t.Context(), pods[0].Containers[0]); control == "" || err != nil {
			t.Errorf("pods can use %q, %v", control, err)
		}
		if n := upgrades.Load(); n != 2 {
			t.Errorf("%d connections were not WebSockets, want those to the keeper and to the pod", n)
		}
		iferr.Error(t, own.Close(t.Context()))
		c.empty(t, "behind")
	})

	t.Run("drained", func(t *testing.T) {
		t.Parallel()
		used, err := c.own(t, c.team(t, "drained"), nil).Use(t.Context(), 1)
		iferr.Fatal(t, err)
		pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0]})
		iferr.Fatal(t, err)
		iferr.Error(t, pods[0].Fault(t.Context()))
		eviction := object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pods[0].Name}}
		iferr.Fatal(t, c.Server.Ask(t.Context(), http.MethodPost, "/api/v1/namespaces/drained/pods/"+pods[0].Name+"/eviction", eviction, nil))
		_ = pods[0].Containers[0].Ended(t)
		refused(t, pods[0].Fault(t.Context()), "somebody has removed it, as when its node is drained")
	})

	t.Run("what cannot be removed", func(t *testing.T) {
		t.Parallel()
		own := c.own(t, c.team(t, "left"), nil)
		for range 2 { // the second has the same names
			used, err := own.Use(t.Context(), 1)
			iferr.Fatal(t, err)
			pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0]})
			iferr.Fatal(t, err)
			iferr.Fatal(t, used.AddFurther(t.Context(), 0, 1, pods[0], 20001))
			own.GiveUp(used)
			own.Leave(used)
		}
		iferr.Error(t, own.Close(t.Context()))
		c.empty(t, "left")
	})

	t.Run("two beside", func(t *testing.T) {
		t.Parallel()
		config := c.team(t, "two")
		const credential = `{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}`
		printed := c.writeConfig(t, "two", byProgram("echo '"+fmt.Sprintf(credential, tokenOf(t, config))+"'"))
		var all []*kube.Own
		for run, config := range map[string]string{"first0123456": config, "second012345": printed} {
			own := c.own(t, config, func(o *kube.OwnOptions) { o.Run = run })
			used, err := own.Use(t.Context(), 1)
			iferr.Fatal(t, err)
			pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0]})
			iferr.Fatal(t, err)
			iferr.Fatal(t, used.Expose(t.Context(), 0, pods[0], kube.Ports{First: 20001, Last: 20001}, kube.ClusterIP))
			all = append(all, own)
		}
		iferr.Error(t, all[0].Close(t.Context()))
		c.keeps(t, "two", 4) // of the second: a job with its pod, a pod, a service
		iferr.Error(t, all[1].Close(t.Context()))
		c.empty(t, "two")
	})
}

// dial connects to what the first node reaches.
func (c theirs) dial(ctx context.Context, network, addr string) (conn net.Conn, err error) {
	err = netns.Do(c.Nodes[0].Facts().NetNS, func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
		return err
	})
	return conn, err
}

// proxied returns the cluster behind a proxy that refuses WebSockets, as old ones do, and counts other upgrades.
func (c theirs) proxied(t *testing.T) (there theirs, upgrades *atomic.Int32) {
	t.Helper()
	machine.Loopback(t)
	server, err := url.Parse(c.Server.URL)
	iferr.Fatal(t, err)
	trusted := x509.NewCertPool()
	authority, err := os.ReadFile(c.Server.Trust)
	iferr.Fatal(t, err)
	trusted.AppendCertsFromPEM(authority)
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted},
		DialContext:     c.dial,
	}
	upgrades = &atomic.Int32{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Upgrade") {
		case "":
		case "websocket":
			http.Error(w, "no WebSockets here", http.StatusForbidden)
			return
		default:
			upgrades.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	trust := filepath.Join(t.TempDir(), "proxy.crt")
	iferr.Fatal(t, os.WriteFile(trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return theirs{Cluster: &kube.Cluster{Server: &kube.Server{API: kube.APIBy(nil, s.URL), Trust: trust}}}, upgrades
}

// wire is a connection that can be cut.
type wire struct {
	mu    sync.Mutex
	conns []net.Conn
	down  bool
}

var errCut = errors.New("the line is cut")

func (w *wire) through(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.down {
			return nil, errCut
		}
		c, err := dial(ctx, network, addr)
		if err == nil {
			w.conns = append(w.conns, c)
		}
		return c, err
	}
}

// cut cuts connections: from one on, or from one to another, in the order in which they were made. No new ones can be made.
func (w *wire) cut(from int, to ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for _, c := range w.conns[from:append(to, len(w.conns))[0]] {
		c.Close()
	}
}

// mend lets new connections be made, and returns the number of the next.
func (w *wire) mend() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
	return len(w.conns)
}

// without returns the kubeconfig of a user of the namespace team who lacks the rights to a resource.
func (c theirs) without(t *testing.T, resource string) string {
	t.Helper()
	name := "no-" + strings.ReplaceAll(resource, "/", "-")
	return c.user(t, "team", name, slices.DeleteFunc(rights(t), func(r any) bool { return r.(object)["resources"].([]string)[0] == resource }))
}

// refusals tries the reasons for which a cluster can refuse to be used.
func (c theirs) refusals(t *testing.T, config string) {
	namespace := "/api/v1/namespaces/team"
	for _, k := range []struct {
		name   string
		before func(t *testing.T) (undo func(*testing.T))
		change func(*testing.T, *kube.OwnOptions)
		want   string
	}{
		{name: "no such file", change: func(t *testing.T, o *kube.OwnOptions) { o.Config = "/nonexistent" }, want: "--kubeconfig /nonexistent: there is no such file"},
		{name: "no cluster", change: func(t *testing.T, o *kube.OwnOptions) {
			o.Config = ""
			t.Setenv("KUBECONFIG", "/nonexistent")
		}, want: "no cluster is known here: there is nothing at /nonexistent, which KUBECONFIG names; name a kubeconfig"},
		{name: "no such context", change: func(t *testing.T, o *kube.OwnOptions) { o.Context = "prod" }, want: "there is no context prod; the kubeconfig has theirs"},
		{name: "not a kubeconfig", change: func(t *testing.T, o *kube.OwnOptions) {
			o.Config = filepath.Join(t.TempDir(), "x")
			iferr.Fatal(t, os.WriteFile(o.Config, []byte("a: [b"), 0o600))
		}, want: "kubeconfig: "},
		{name: "expired credentials", change: func(t *testing.T, o *kube.OwnOptions) { o.Config = c.writeConfig(t, "team", object{"token": "old"}) },
			want: "the cluster of the context theirs refuses the credentials of the user me: they may have expired; log in again"},
		{name: "no credentials", change: func(t *testing.T, o *kube.OwnOptions) {
			o.Config = c.writeConfig(t, "team", byProgram("exit 3"))
		}, want: "the cluster of the context theirs: there are no credentials for the user me: getting credentials: exec: executable sh failed with exit code 3"},
		{name: "no such namespace", change: func(t *testing.T, o *kube.OwnOptions) {
			o.Config = c.Server.Config(kube.Admin)
			o.Namespace = "nowhere"
		}, want: "there is no namespace nowhere on the cluster of the context lab; make it"},
		{name: "no right to attach", change: func(t *testing.T, o *kube.OwnOptions) { o.Config = c.without(t, "pods/attach") },
			want: "measuring in the namespace team: not supported here (needs the right to get pods/attach)"},
		{name: "no right to jobs", change: func(t *testing.T, o *kube.OwnOptions) { o.Config = c.without(t, "jobs") }, want: "needs the right to create jobs, get jobs, delete jobs)"},
		{name: "no such node", change: func(t *testing.T, o *kube.OwnOptions) {
			o.Config, o.Nodes = c.Server.Config(kube.Admin), []string{"h1", "h7"}
		}, want: "--nodes: the cluster of the context lab has no node h7; it has h1, h2"},
		{name: "too few nodes", change: func(t *testing.T, o *kube.OwnOptions) {}, want: "kubernetes on 2 hosts: not supported here (needs 2 nodes)"},
		{name: "a quota", before: func(t *testing.T) func(*testing.T) {
			c.makes(t, namespace+"/resourcequotas", object{"metadata": object{"name": "tight"}, "spec": object{"hard": object{"pods": "0"}}})
			return func(t *testing.T) { c.remove(t, namespace+"/resourcequotas/tight") }
		}, want: "pods in the namespace team: not supported here (needs room in the quota there: tight, "},
		{name: "a webhook", before: func(t *testing.T) func(*testing.T) {
			const at = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
			c.makes(t, at, object{"metadata": object{"name": "strict"}, "webhooks": []object{{
				"name": "strict.example.com", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
				"clientConfig":      object{"url": "https://127.0.0.1:1/"},
				"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": "team"}},
				"rules":             []object{{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"pods"}}},
			}}})
			return func(t *testing.T) { c.remove(t, at+"/strict") }
		}, want: "pods in the namespace team: not supported here (needs an answer of the admission webhook strict.example.com)"},
	} {
		t.Run(k.name, func(t *testing.T) {
			if k.before != nil {
				undo := k.before(t)
				defer undo(t)
			}
			own := c.own(t, config, func(o *kube.OwnOptions) {
				if k.change != nil {
					k.change(t, o)
				}
			})
			hosts := 1
			if strings.Contains(k.want, "needs 2 nodes") {
				hosts = 2
			}
			var err error
			// It takes a while until the API server knows of a webhook or a quota. Meanwhile it may let a pod be tried, and then
			// not be made, which takes a minute each time.
			for began := time.Now(); time.Since(began) < patience; {
				if _, err = own.Use(t.Context(), hosts); err != nil && !strings.Contains(err.Error(), "status unknown") && !strings.Contains(err.Error(), " has no pod (") {
					break
				}
				iferr.Fatal(t, own.Close(t.Context()))
			}
			refused(t, err, k.want)
		})
	}
	t.Run("h1 is cordoned", func(t *testing.T) {
		cordoned := func(is bool) {
			iferr.Error(t, c.Server.Ask(t.Context(), http.MethodPatch, "/api/v1/nodes/h1", object{"spec": object{"unschedulable": is}}, nil))
		}
		cordoned(true)
		defer cordoned(false)
		t.Run("at once", func(t *testing.T) {
			c.oneNode(t, config)
		})
	})
}

// oneNode uses the cluster at the same time in several ways while h1 is cordoned.
func (c theirs) oneNode(t *testing.T, config string) {
	for name, k := range map[string]struct {
		change func(*kube.OwnOptions)
		want   string
	}{
		"seen":                   {func(o *kube.OwnOptions) { o.Config = c.Server.Config(kube.Admin) }, "h1 is cordoned)"},
		"found by the scheduler": {func(*kube.OwnOptions) {}, "for a second one, no node takes it: 0/2 nodes are available: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.own(t, config, func(o *kube.OwnOptions) {
				o.Nodes = nil
				k.change(o)
			}).Use(t.Context(), 2)
			refused(t, err, "needs 2 nodes that take pods; it has h2, and "+k.want)
		})
	}
	t.Run("full", func(t *testing.T) { // the reason is the scheduler's: the user may not list nodes
		t.Parallel()
		used, err := c.own(t, config, func(o *kube.OwnOptions) { o.Nodes = []string{"h2", "h1"} }).Use(t.Context(), 2)
		iferr.Fatal(t, err)
		_, err = used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[1]})
		refused(t, err, "no node takes it: 0/2 nodes are available: ")
	})
}

// lacks tries at the same time what shows only once pods are made.
func (c theirs) lacks(t *testing.T, config string) {
	for image, want := range map[string]string{
		"registry.invalid/none:1": "the image registry.invalid/none:1 cannot be had: ",
		"nettoll.invalid/pause:1": "the image nettoll.invalid/pause:1 has no shell (sh); name one that has, with --image",
	} {
		t.Run("image "+image, func(t *testing.T) {
			t.Parallel()
			_, err := c.own(t, config, func(o *kube.OwnOptions) { o.Image = image }).Use(t.Context(), 1)
			refused(t, err, want)
		})
	}
	t.Run("pod security", func(t *testing.T) {
		t.Parallel()
		used, err := c.own(t, config, nil).Use(t.Context(), 1)
		iferr.Fatal(t, err)
		for _, spec := range []kube.PodSpec{{HostNetwork: true}, {HostPorts: kube.Ports{First: 20001, Last: 20002}}} {
			spec.Node = used.Nodes[0]
			_, err = used.Run(t.Context(), spec)
			refused(t, err, "needs a higher level of pod security there than \"restricted:latest\"")
			if !errors.Is(err, platform.ErrUnsupported) {
				t.Errorf("%v is not that something is missing", err)
			}
		}
	})
	for resource, make := range map[string]func(*kube.Cluster, *kube.Pod) error{
		"services": func(used *kube.Cluster, pod *kube.Pod) error {
			return used.Expose(t.Context(), 0, pod, kube.Ports{First: 20001, Last: 20001}, kube.ClusterIP)
		},
		"endpointslices": func(used *kube.Cluster, pod *kube.Pod) error { return used.AddFurther(t.Context(), 1, 1, pod, 20001) },
	} {
		t.Run("no right to "+resource, func(t *testing.T) {
			t.Parallel()
			used, err := c.own(t, c.without(t, resource), nil).Use(t.Context(), 1)
			iferr.Fatal(t, err)
			pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0]})
			iferr.Fatal(t, err)
			refused(t, make(used, pods[0]), "measuring in the namespace team: not supported here (needs the right to create "+resource+")")
		})
	}
}

func (c theirs) remove(t *testing.T, path string) {
	t.Helper()
	iferr.Error(t, c.Server.Ask(t.Context(), http.MethodDelete, path, nil, nil))
}

// TestReceived runs the script of a container's first process, in a PID namespace as containers have: it ends if nothing is
// written to it, when its input ends, and when the agent does not arrive. In a namespace that it shares with others, it leaves
// these alone.
func TestReceived(t *testing.T) {
	const ends, open = false, true
	const beside = `sleep 1000 & sh -c "$0"; kill -0 $! && echo alone`
	for name, in := range map[string]struct {
		said  string
		stays bool // the input stays open
	}{
		"silence": {"", open}, "an end": {"", ends}, "an end later": {"\n", ends}, "silence later": {"\n", open}, "half of the agent": {"\n1000 0\nhalf", open},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/shared=%v", name, shared), func(t *testing.T) {
				t.Parallel()
				script := []string{kube.ReceivedWithin("mark", shared, time.Second, 2*time.Second)}
				if shared {
					script = []string{beside, script[0]}
				}
				cmd := exec.Command("unshare", append([]string{"--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c"}, script...)...)
				var out strings.Builder
				cmd.Stdout = &out
				r, w, err := os.Pipe()
				iferr.Fatal(t, err)
				defer r.Close()
				defer w.Close()
				cmd.Stdin = r
				if _, err := w.WriteString(in.said); err != nil {
					t.Fatal(err)
				}
				if !in.stays {
					w.Close()
				}
				iferr.Fatal(t, cmd.Start())
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				select {
				case <-ended:
				case <-time.After(30 * time.Second):
					_ = cmd.Process.Kill()
					t.Fatal("it goes on")
				}
				if shared && !strings.HasSuffix(out.String(), "alone\n") {
					t.Errorf("a process that has nothing to do with it has ended: %q", out.String())
				}
			})
		}
	}
}
