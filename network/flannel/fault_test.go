package flannel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
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
				need = strings.TrimPrefix(missing.Option, "the program ")
			}
			platformtest.Require(t, need, err)
			return v
		}
	}
	t.Fatalf("no network %s", name)
	return variant{}
}

var two = network.Topology{Hosts: 2, Servers: 1, Clients: 1}

func connect(t *testing.T, v variant) *build {
	t.Helper()
	s, err := plumb.Begin(t.Context(), two, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	n, err := v.build(t.Context(), &plumb.Network{Site: s})
	if err != nil {
		t.Fatal(s.Abandon(t.Context(), err))
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// within asks until the answer is yes, for a while.
func within(long time.Duration, ready func() bool) {
	for end := time.Now().Add(long); !ready() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
}

func TestKilledDaemonIsNamed(t *testing.T) {
	n := connect(t, named(t, "flannel-udp"))
	if err := n.Standing().Fault(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.flannelds[1].Kill(); err != nil {
		t.Fatal(err)
	}
	var err error
	within(5*time.Second, func() bool {
		err = n.Standing().Fault(t.Context())
		return err != nil
	})
	if err == nil || !strings.HasPrefix(err.Error(), "flanneld on h2 ended (signal: killed)") {
		t.Error(err)
	}
}

func TestOtherRouteIsFound(t *testing.T) {
	n := connect(t, named(t, "flannel-vxlan"))
	h := n.Hosts[0]
	err := nl.With(h.NS, func(in *nl.NS) error {
		return in.Route(plumb.Subnet(1, false), n.Hosts[1].Uplink().Addr4.Addr(), h.Uplink().Device)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = n.Standing().Fault(t.Context())
	var wrong *network.WrongPath
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Finding, "h1 sends what is for the containers of h2 through "+h.Uplink().Device) {
		t.Error(err)
	}
}

// TestComplaintIsNoted: a lease that flanneld cannot read keeps it from nothing else.
func TestComplaintIsNoted(t *testing.T) {
	n := connect(t, named(t, "flannel-vxlan"))
	before := len(n.Standing().Remarks())
	lease := map[string]any{"PublicIP": "198.18.0.9", "BackendType": "vxlan", "BackendData": "no object"}
	if err := n.put(t.Context(), "subnets/198.19.128.0-20", lease); err != nil {
		t.Fatal(err)
	}
	var all []string
	within(5*time.Second, func() bool {
		all = n.Standing().Remarks()
		return len(all) >= before+len(n.Hosts)
	})
	for _, want := range []string{"flanneld on h1 says: E", "flanneld on h2 says: E"} {
		if !slices.ContainsFunc(all, func(r string) bool { return strings.HasPrefix(r, want) && strings.Contains(r, "error decoding") }) {
			t.Errorf("no remark %q… in %q", want, all)
		}
	}
	if err := n.Standing().Fault(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStoreThatIsDown: flanneld waits for etcd as long as it takes, so that nettoll must not.
func TestStoreThatIsDown(t *testing.T) {
	tech := named(t, "flannel-host-gw")
	s, err := plumb.BeginHosts(t.Context(), two, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	b := &build{Network: &plumb.Network{Site: s}, backend: tech.backend, patience: 3 * time.Second}
	if b.programs, err = tech.find(); err != nil {
		t.Fatal(err)
	}
	if b.dir, err = daemon.State(&s.Stack); err != nil {
		t.Fatal(err)
	}
	const nobody = "http://198.18.0.1:2379"
	_, err = b.start(t.Context(), s.Hosts[0], nobody)
	for _, want := range []string{"flanneld on h1 was not ready within 3s", "it has written no lease", "its log ends with", "198.18.0.1:2379"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestCloudsAreRefused(t *testing.T) {
	clouds := 0
	for _, v := range variants(nil) {
		if v.cloud == "" {
			continue
		}
		clouds++
		tech := v.driver()
		_, connecting := tech.Connect(t.Context(), two, lab.New())
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
