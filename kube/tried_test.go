package kube_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"nettoll/internal/testutil/machine"
	"nettoll/kube"
	"nettoll/platform"
)

// baseline is an API server that knows one node, h1, and has a namespace at the level baseline of pod security. It makes nothing,
// and keeps what it was to make, by the kind.
type baseline struct {
	*httptest.Server

	mu    sync.Mutex
	asked map[string][]object
}

func startBaseline(t *testing.T) *baseline {
	t.Helper()
	machine.Loopback(t)
	b := &baseline{asked: map[string][]object{}}
	b.Server = httptest.NewServer(http.HandlerFunc(b.answer))
	t.Cleanup(b.Close)
	return b
}

func (b *baseline) answer(w http.ResponseWriter, r *http.Request) {
	said := object{}
	switch kind := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
	case kind == "version":
		said["gitVersion"] = "v1"
	case kind == "nodes":
		said["items"] = []object{{"metadata": object{"name": "h1"}}}
	case kind == "selfsubjectaccessreviews":
		said["status"] = object{"allowed": true}
	default:
		var o object
		text := new(strings.Builder)
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(text).Encode(o)
		b.mu.Lock()
		b.asked[kind] = append(b.asked[kind], o)
		b.mu.Unlock()
		forbids := strings.Contains(text.String(), `"hostPort"`) || strings.Contains(text.String(), `"hostNetwork":true`)
		if kind == "pods" && !forbids && r.URL.Query().Get("dryRun") == "All" {
			break
		}
		said = object{"kind": "Status", "code": http.StatusForbidden, "message": "nothing is made here"}
		if forbids {
			said["message"] = `pods "try" is forbidden: violates PodSecurity "baseline:latest": host namespaces or hostPort`
		}
		w.WriteHeader(http.StatusForbidden)
	}
	_ = json.NewEncoder(w).Encode(said)
}

// own returns the cluster as a user's.
func (b *baseline) own(t *testing.T) *kube.Own {
	t.Helper()
	c := theirs{Cluster: &kube.Cluster{Server: &kube.Server{API: kube.APIBy(b.Client(), b.URL)}}}
	return kube.NewOwn(kube.OwnOptions{
		Login: kube.Login{Config: c.writeConfig(t, "team", object{"token": "t"})}, Nodes: []string{"h1"}, Run: "tried0123456",
	})
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
