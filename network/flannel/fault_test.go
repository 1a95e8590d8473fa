package flannel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/networktest"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func named(t *testing.T, name string) variant {
	t.Helper()
	for _, v := range variants(nil) {
		if v.Name == name {
			err := v.driver().Probe(t.Context(), lab.New())
			need := "kernel"
			if missing := (*platform.Unsupported)(nil); errors.As(err, &missing) {
				need = missing.Program
			}
			platformtest.Require(t, need, err)
			return v
		}
	}
	t.Fatalf("no network %s", name)
	return variant{}
}

// connect builds a network on a platform. The caller closes it.
func connect(t *testing.T, v variant, p platform.Platform) *build {
	t.Helper()
	n, err := v.recipe().Lay(t.Context(), networktest.Pair, p)
	iferr.Fatal(t, err)
	b, err := v.build(t.Context(), n)
	if err != nil {
		t.Fatal(n.Abandon(t.Context(), err))
	}
	return b
}

// built builds a network of the named variant in the lab.
func built(t *testing.T, name string) *build {
	t.Helper()
	n := connect(t, named(t, name), lab.New())
	t.Cleanup(func() { iferr.Error(t, n.Close(context.Background())) })
	return n
}

// within polls ready until it returns true, for at most long.
func within(long time.Duration, ready func() bool) {
	for end := time.Now().Add(long); !ready() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
}

func TestKilledDaemonIsNamed(t *testing.T) {
	n := built(t, "flannel-udp")
	iferr.Fatal(t, n.Standing().Fault(t.Context()))
	iferr.Fatal(t, n.flannelds[1].Kill())
	var err error
	within(time.Minute, func() bool {
		err = n.Standing().Fault(t.Context())
		return err != nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "flanneld on h2 ended (signal: killed)") {
		t.Error(err)
	}
}

func TestOtherRouteIsFound(t *testing.T) {
	n := built(t, "flannel-vxlan")
	h := n.Hosts[0]
	err := nl.With(h.NS, func(in *nl.NS) error {
		return in.Route(plumb.Subnet(1, false), n.Hosts[1].Uplink().Addr4.Addr(), h.Uplink().Device)
	})
	iferr.Fatal(t, err)
	err = n.Standing().Fault(t.Context())
	var wrong *network.WrongPath
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Finding, "h1 sends packets for the containers of h2 through "+h.Uplink().Device) {
		t.Error(err)
	}
}

// TestComplaintIsNoted writes a lease that flanneld cannot read, which affects nothing else.
func TestComplaintIsNoted(t *testing.T) {
	n := built(t, "flannel-vxlan")
	lease := map[string]any{"PublicIP": "198.18.0.9", "BackendType": "vxlan", "BackendData": "no object"}
	iferr.Fatal(t, n.put(t.Context(), "subnets/198.19.128.0-20", lease))
	for _, want := range []string{"flanneld on h1 says: E", "flanneld on h2 says: E"} {
		var all []string
		noted := func() bool {
			all = n.Standing().Remarks(network.IPv4)
			return slices.ContainsFunc(all, func(r string) bool { return strings.HasPrefix(r, want) && strings.Contains(r, "error decoding") })
		}
		if within(time.Minute, noted); !noted() {
			t.Errorf("no remark %q… in %q", want, all)
		}
	}
	iferr.Error(t, n.Standing().Fault(t.Context()))
}

// TestStoreThatIsDown checks that nettoll does not wait forever for flanneld, which waits forever
// for etcd.
func TestStoreThatIsDown(t *testing.T) {
	tech := named(t, "flannel-host-gw")
	err := withoutStore(t, tech, 3*time.Second)
	if err != nil { // on a busy machine, flanneld does not say in time what it waits for
		err = withoutStore(t, tech, 30*time.Second)
	}
	iferr.Error(t, err)
}

// withoutStore starts a flanneld without etcd, and returns what is not as it should be.
func withoutStore(t *testing.T, tech variant, patience time.Duration) error {
	t.Helper()
	n, err := tech.recipe().Lay(t.Context(), networktest.Pair, lab.New())
	iferr.Fatal(t, err)
	defer n.Close(context.Background())
	b := &build{Network: n, backend: tech.backend, patience: patience}
	if b.dir, err = daemon.State(&n.Stack); err != nil {
		t.Fatal(err)
	}
	const nobody = "http://198.18.0.1:2379"
	_, err = b.start(t.Context(), n.Hosts[0], nobody)
	for _, want := range []string{"flanneld on h1 was not ready within " + patience.String(), "it has written no lease", "its log ends with", "198.18.0.1:2379"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("%v does not say %q", err, want)
		}
	}
	return nil
}

func TestCloudsAreRefused(t *testing.T) {
	clouds := 0
	for _, v := range variants(nil) {
		if v.cloud == "" {
			continue
		}
		clouds++
		tech := v.driver()
		_, connecting := tech.Connect(t.Context(), networktest.Pair, lab.New())
		for _, err := range []error{tech.Probe(t.Context(), lab.New()), connecting} {
			var missing *platform.Unsupported
			if !errors.As(err, &missing) || !strings.Contains(missing.Option, "route table") || !strings.Contains(missing.Remedy, "flannel-host-gw") {
				t.Errorf("%s: %v", tech.Name, err)
			}
		}
	}
	if clouds != 2 {
		t.Errorf("%d backends for clouds", clouds)
	}
}

// TestKilledDaemonLeavesNothing kills flanneld, which then cannot clean up its host. One of the
// hosts has its own rules, which must remain.
func TestKilledDaemonLeavesNothing(t *testing.T) {
	for _, name := range []string{"flannel-vxlan", "flannel-host-gw"} {
		t.Run(name, func(t *testing.T) {
			tech := named(t, name)
			on, hosts := networktest.Keep(t, lab.New(), 2)
			first := &plumb.Host{Host: hosts.All()[0]}
			own := []string{"-w", "-A", "FORWARD", "-s", "198.18.99.99", "-j", "DROP"}
			iferr.Fatal(t, run(t.Context(), first, "iptables", own...))
			before := networktest.State(t, hosts.All()...)
			n := connect(t, tech, on)
			for _, d := range n.Needed[1:] {
				iferr.Error(t, d.Kill())
			}
			iferr.Error(t, n.Close(t.Context()))
			networktest.Same(t, "after flanneld was killed", before, networktest.State(t, hosts.All()...))
			for _, program := range []string{"iptables", "ip6tables"} {
				if run(t.Context(), first, program, "-w", "-S", chain) == nil {
					t.Errorf("%s: flanneld's chain is still there", program)
				}
			}
			if err := run(t.Context(), first, "iptables", append([]string{"-w", "-C"}, own[2:]...)...); err != nil {
				t.Errorf("the host's own rule is gone: %v", err)
			}
		})
	}
}

// TestManyContainers has so many containers that their bridge stays down until they have sent their reports: flannel's hosts must
// not wait for each other's bridges before.
func TestManyContainers(t *testing.T) {
	topo := networktest.Pair
	topo.Neighbours = 70
	networktest.Build(t, named(t, "flannel-host-gw").driver(), topo)
}
