package kubeproxy_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/network/kubeproxy"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/record"
)

// TestLastService sends a greeting through the last of several further services, of either IP version, which kube-proxy has learned
// of in portions. That of the server was made after them, and timed.
func TestLastService(t *testing.T) {
	t.Cleanup(kubeproxy.SetPortion(2))
	for _, tech := range kubeproxy.All(nil) {
		t.Run(tech.Name, func(t *testing.T) {
			topo := networktest.Pair
			topo.Services = 5
			n := networktest.Build(t, tech, topo)
			networktest.LastService(t, n, topo)
			if n.InForce.Service <= 0 || n.InForce.Policy != 0 {
				t.Errorf("in force: %+v", n.InForce)
			}
			t.Logf("the server's service was in force after %.3f s", n.InForce.Service)
		})
	}
}

// TestRangeOfServices checks that kube-proxy has the rules that it makes of the ranges of the addresses of services: the API server
// tells it none by itself, and kube-proxy can have written the rules of services before it knows of the ranges, which the test
// provokes.
func TestRangeOfServices(t *testing.T) {
	list := func(h platform.Host, family string) string {
		var rules strings.Builder
		iferr.Error(t, nsexec.Run(t.Context(), h, platform.Command{Path: "nft", Args: []string{"list", "chain", family, "kube-proxy", "cluster-ips-check"}, Stdout: &rules}))
		return rules.String()
	}
	ranges := map[string]string{"ip": kube.ServiceRange()[0].String(), "ip6": kube.ServiceRange()[1].String()}
	t.Cleanup(kubeproxy.OnServices(func(h *plumb.Host) error {
		for family, of := range ranges {
			if err := nsexec.Run(t.Context(), h, platform.Command{Path: "nft", Args: []string{"flush", "chain", family, "kube-proxy", "cluster-ips-check"}}); err != nil {
				return err
			}
			if rules := list(h, family); strings.Contains(rules, of) {
				t.Errorf("the rule is not gone, so that the test proves nothing:\n%s", rules)
			}
		}
		return nil
	}))
	at := slices.IndexFunc(kubeproxy.All(nil), func(d network.Driver) bool { return d.Name == "kube-proxy-nftables" })
	n := networktest.Build(t, kubeproxy.All(nil)[at], networktest.Pair)
	for _, h := range n.Hosts {
		for family, of := range ranges {
			if rules := list(h, family); !strings.Contains(rules, family+" daddr "+of+" drop") {
				t.Errorf("%s does not drop packets to %s:\n%s", h.Name(), of, rules)
			}
		}
	}
}

// TestControlPlaneStops checks that etcd and the API server use no CPU time while payload is measured, that
// the network notices when kube-proxy ends, and that it can still be taken down.
func TestControlPlaneStops(t *testing.T) {
	n := networktest.Build(t, kubeproxy.All(nil)[0], networktest.Pair)
	if n.InForce != (record.InForce{}) {
		t.Errorf("without further services it was measured when the service was in force: %+v", n.InForce)
	}
	for _, program := range []string{"^[^ ]*etcd --name", "^[^ ]*kube-apiserver "} {
		pid := process(t, n.Hosts[0], program)
		iferr.Error(t, await.Until(t.Context(), time.Minute, time.Millisecond, func(context.Context) (missing, err error) {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if !strings.Contains(string(status), "State:\tT (stopped)\n") { // a signal takes a moment
				missing = fmt.Errorf("%s is not stopped:\n%s", program, status)
			}
			return missing, err
		}))
	}
	networktest.Killed(t, n, process(t, n.Hosts[1], "--hostname-override=h2"), "kube-proxy on h2")
}

// process returns the PID of the process whose command line matches.
func process(t *testing.T, on platform.Host, command string) (pid int) {
	t.Helper()
	var said strings.Builder
	err := nsexec.Run(t.Context(), on, platform.Command{Path: "pgrep", Args: []string{"-f", "--", command}, Stdout: &said})
	if _, scan := fmt.Sscan(said.String(), &pid); err != nil || scan != nil {
		t.Fatal(command, err, scan)
	}
	return pid
}
