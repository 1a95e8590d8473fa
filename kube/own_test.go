package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nettoll/docker/rootfs"
	"nettoll/internal/bootstrap"
	"nettoll/internal/netns"
	"nettoll/kube"
)

// imageWithShell returns an image in which a container can receive an agent, as the images of users can.
func imageWithShell(t *testing.T) *rootfs.Image {
	t.Helper()
	var in []rootfs.Program
	for _, name := range append([]string{"sh", "sleep"}, bootstrap.Needs()...) {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		in = append(in, rootfs.Program{File: path, Path: "/bin/" + name})
	}
	image, err := rootfs.New(in...)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// theirs is a cluster that is used as a user's, by one who has only the rights of docs/kubernetes.md.
type theirs struct {
	*kube.Cluster
	config string
}

// rights are those of docs/kubernetes.md.
func rights(t *testing.T) []any {
	t.Helper()
	return []any{
		rule("batch", "jobs", "create", "get", "delete"), rule("", "pods", "create", "get", "list", "delete"),
		rule("", "pods/attach", "create", "get"), rule("", "services", "create", "get", "delete"),
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

// namespace makes a namespace at a level of pod security.
func (c theirs) namespace(t *testing.T, name, level string) {
	t.Helper()
	c.makes(t, "/api/v1/namespaces", object{"metadata": object{"name": name, "labels": object{"pod-security.kubernetes.io/enforce": level}}})
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
	token := c.makes(t, at+"/"+name+"/token", object{"spec": object{}}).Status.Token
	return c.writeConfig(t, namespace, token)
}

func (c theirs) writeConfig(t *testing.T, namespace, token string) string {
	t.Helper()
	text, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "theirs",
		"clusters": []object{{"name": "theirs", "cluster": object{"server": c.Server.URL, "certificate-authority": c.Server.Trust}}},
		"users":    []object{{"name": "me", "user": object{"token": token}}},
		"contexts": []object{{"name": "theirs", "context": object{"cluster": "theirs", "user": "me", "namespace": namespace}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// own returns the cluster as a user's.
func (c theirs) own(t *testing.T, config string, change func(*kube.OwnOptions)) *kube.Own {
	t.Helper()
	o := kube.OwnOptions{
		Login: kube.Login{Config: config, Dial: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			err = netns.Do(c.Nodes[0].Facts().NetNS, func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
				return err
			})
			return conn, err
		}},
		Nodes: []string{"h1"}, Image: kube.AgentImage, Run: "own0123456789",
		Agents: &bootstrap.Agents{File: func(string) (string, error) { return "/proc/self/exe", nil }},
	}
	if change != nil {
		change(&o)
	}
	own := kube.NewOwn(o)
	t.Cleanup(func() {
		if err := own.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return own
}

// left returns the names of what nettoll has made in a namespace and is still there.
func (c theirs) left(t *testing.T, namespace string) (names []string) {
	t.Helper()
	for _, path := range []string{"/api/v1/namespaces/%s/pods", "/api/v1/namespaces/%s/services", "/apis/batch/v1/namespaces/%s/jobs"} {
		var all struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := c.Server.Ask(t.Context(), http.MethodGet, fmt.Sprintf(path, namespace)+"?labelSelector="+kube.RunLabel, nil, &all); err != nil {
			t.Fatal(err)
		}
		for _, o := range all.Items {
			names = append(names, o.Metadata.Name)
		}
	}
	return names
}

// empty waits until nothing is left.
func (c theirs) empty(t *testing.T, namespace string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		left := c.left(t, namespace)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left after %v: %v", within, left)
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

// TestOwn uses a private cluster as if it were the user's.
func TestOwn(t *testing.T) {
	c := theirs{Cluster: cluster(t, 2, kube.Options{Image: imageWithShell(t)})}
	c.namespace(t, "team", "restricted")
	config := c.user(t, "team", "me", rights(t))

	t.Run("pods", func(t *testing.T) {
		own := c.own(t, config, func(o *kube.OwnOptions) { o.Nodes = []string{"h2", "h1"} })
		used, err := own.Use(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		pods, err := used.Run(t.Context(), kube.PodSpec{Node: used.Nodes[0], Containers: 2}, kube.PodSpec{Node: used.Nodes[1]})
		if err != nil {
			t.Fatal(err)
		}
		if err := used.Expose(t.Context(), 0, pods[0], kube.Ports{First: 20001, Last: 20002}, false); err != nil {
			t.Fatal(err)
		}
		for _, six := range []bool{false, true} {
			if !pods[0].Addr(six).IsValid() || !pods[0].HostAddr(six).IsValid() || !used.ServiceAt(0, six).IsValid() {
				t.Errorf("IPv6 %v: pod %v on %v, service %v", six, pods[0].Addr(six), pods[0].HostAddr(six), used.ServiceAt(0, six))
			}
		}
		if got, want := pods[0].HostAddr(false), c.Nodes[1].Uplink().Addr4.Addr(); got != want {
			t.Errorf("the first pod is on %v, want %v", got, want)
		}
		// Everything belongs to the keeper from the beginning.
		if left := c.left(t, "team"); len(left) != 5 { // a job with its pod, two pods, a service
			t.Errorf("there are %v", left)
		}
		if err := own.Close(t.Context()); err != nil {
			t.Error(err)
		}
		c.empty(t, "team", 20*time.Second)
	})
}
