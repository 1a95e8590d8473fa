package kube

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

// TestContainersOfOthers: what a service mesh has put into a pod is known by name, whether it is a container or goes on after it has
// initialized the pod. An address of the node is known before Kubernetes 1.29, too, which tells only one.
func TestContainersOfOthers(t *testing.T) {
	machine.Loopback(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"metadata": {"name": "p"}, "spec": {"nodeName": "a"}, "status": {"phase": "Running",
			"podIPs": [{"ip": "10.1.0.3"}], "hostIP": "10.0.0.7",
			"initContainerStatuses": [{"name": "istio-init", "state": {"terminated": {}}}, {"name": "linkerd-proxy", "state": {"running": {}}}],
			"containerStatuses": [{"name": "c", "state": {"running": {}}}, {"name": "istio-proxy", "state": {"running": {}}}]}}`))
	}))
	defer s.Close()
	p := &Pod{Name: "p"}
	p.Containers = []*Container{{name: "c", pod: p}}
	missing, err := ClusterBy(APIBy(s.Client(), s.URL)).runs(t.Context(), p)
	iferr.Fatal(t, err)
	iferr.Fatal(t, missing)
	if got, want := p.Containers[0].Beside(), []string{"linkerd-proxy", "istio-proxy"}; !slices.Equal(got, want) {
		t.Errorf("beside it are %q, want %q", got, want)
	}
	if at := p.HostAddr(false); at.String() != "10.0.0.7" {
		t.Errorf("its node is at %v", at)
	}
}
