package kubeproxy_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/await"
	"nettoll/internal/nsexec"
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

// TestRangeOfServices checks that kube-proxy has the rule that it makes of the range of the addresses of services: the API server
// tells it none by itself.
func TestRangeOfServices(t *testing.T) {
	at := slices.IndexFunc(kubeproxy.All(nil), func(d network.Driver) bool { return d.Name == "kube-proxy-nftables" })
	n := networktest.Build(t, kubeproxy.All(nil)[at], networktest.Pair)
	var rules strings.Builder
	iferr.Fatal(t, nsexec.Run(t.Context(), n.Hosts[0], platform.Command{Path: "nft", Args: []string{"list", "chain", "ip", "kube-proxy", "cluster-ips-check"}, Stdout: &rules}))
	if want := "ip daddr " + kube.ServiceRange()[0].String(); !strings.Contains(rules.String(), want) {
		t.Errorf("no %q in:\n%s", want, rules.String())
	}
}

// TestControlPlaneStops checks that etcd and the API server use no CPU time while payload is measured, that
// the network notices when kube-proxy ends, and that it can still be taken down.
func TestControlPlaneStops(t *testing.T) {
	n := networktest.Build(t, kubeproxy.All(nil)[0], networktest.Pair)
	iferr.Error(t, n.Broken(t.Context()))
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
	iferr.Fatal(t, unix.Kill(process(t, n.Hosts[1], "--hostname-override=h2"), unix.SIGKILL))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	for ; err == nil && ctx.Err() == nil; err = n.Broken(ctx) {
		time.Sleep(time.Millisecond) // the end is noticed by another goroutine
	}
	if err == nil || !strings.HasPrefix(err.Error(), "kube-proxy on h2 ended (signal: killed)") {
		t.Error(err)
	}
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
