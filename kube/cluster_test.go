package kube_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/shellimage"
	"nettoll/kube"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// cluster starts a cluster on hosts of the lab.
func cluster(t *testing.T, nodes int, o kube.Options) *kube.Cluster {
	t.Helper()
	platformtest.Require(t, "kubelet", kube.Available(nil))
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: nodes})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	o.Run = "0c1057e50123"
	c, err := kube.Start(t.Context(), hosts.All(), o)
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, c.Stop(context.Background())) })
	return c
}

// TestCluster checks that the cluster has its nodes with the addresses of the lab, and that it changes no parameter
// of the machine. Then it is used as if it were the user's.
func TestCluster(t *testing.T) {
	parameters := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/netfilter/nf_conntrack_max"} {
			b, _ := os.ReadFile("/proc/sys/" + name) // not every kernel has all
			all[name] = strings.TrimSpace(string(b))
		}
		return all
	}
	before := parameters()
	c := cluster(t, 2, kube.Options{Image: shellimage.New(t)})
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ PodCIDRs []string }
			Status   struct {
				Addresses []struct{ Type, Address string }
			}
		}
	}
	iferr.Fatal(t, c.Server.Ask(t.Context(), http.MethodGet, "/api/v1/nodes", nil, &nodes))
	var got []string
	for _, n := range nodes.Items {
		text := n.Metadata.Name + " " + strings.Join(n.Spec.PodCIDRs, " ")
		for _, a := range n.Status.Addresses {
			if a.Type == "InternalIP" {
				text += " " + a.Address
			}
		}
		got = append(got, text)
	}
	want := "h1 198.19.0.0/20 2001:2:0:1::/64 198.18.0.1 2001:2:0:ffff::1\nh2 198.19.16.0/20 2001:2:0:2::/64 198.18.0.2 2001:2:0:ffff::2"
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("nodes:\n%s\nwant\n%s", got, want)
	}
	iferr.Error(t, c.Fault(t.Context()))
	if err := c.Server.Ask(t.Context(), http.MethodGet, "/api/v1/nodes/h3", nil, nil); !kube.Absent(err) {
		t.Errorf("a node that does not exist: %v", err)
	}
	for name, now := range parameters() {
		if was := before[name]; now != was && was != "" { // one that was missing has come with its module
			t.Errorf("the cluster has changed the machine's parameter %s from %s to %s", name, was, now)
		}
	}
	t.Run("as the user's", theirs{c, shellimage.Agents(t)}.asOwn)
}
