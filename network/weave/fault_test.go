package weave_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/nl"
	"nettoll/network"
	"nettoll/network/weave"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

const (
	version       = "weave 2.8.1"
	inSleeve      = "established sleeve 7a:00:00:00:00:01(h1) mtu=1376"
	inSecret      = "established encrypted   sleeve 7a:00:00:00:00:01(h1) encrypted=truemtu=1376"
	inFast        = "established fastdp 7a:00:00:00:00:01(h1) mtu=1376"
	notUnderstood = "<html>404</html>"
)

func connect(t *testing.T, tech network.Driver, p platform.Platform) (*network.Network, error) {
	t.Helper()
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p)
	var missing *platform.Unsupported
	if errors.As(err, &missing) && missing.Option == "the program iptables" {
		platformtest.Require(t, "iptables", err)
	}
	if err == nil {
		t.Cleanup(func() {
			if err := n.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return n, err
}

func TestWeaversThatDoOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		build func(fake) network.Driver
		says  string
		want  string
		wrong bool // it is a finding about the path
	}{
		"fallback": {
			func(f fake) network.Driver { return weave.HurriedFastDatapath(f.paths()) }, inSleeve,
			"Weave fell back from its fast datapath to sleeve in silence, between h1 and h2", true,
		},
		"fast": {
			func(f fake) network.Driver { return weave.HurriedSleeve(f.paths()) }, inFast,
			"Weave uses its fast datapath, although it was told not to, between h1 and h2", true,
		},
		"in the clear": {
			func(f fake) network.Driver { return weave.HurriedEncryptedSleeve(f.paths()) }, inSleeve,
			"Weave does not encrypt, although it was given a password, between h1 and h2", true,
		},
		"encrypted": {
			func(f fake) network.Driver { return weave.HurriedSleeve(f.paths()) }, inSecret,
			"Weave encrypts, although it was given no password, between h1 and h2", true,
		},
		"never connected": {
			func(f fake) network.Driver { return weave.HurriedSleeve(f.paths()) }, "retrying    dial tcp4 198.18.0.1:6783: no route to host",
			"weaver on h2 was not ready within 3s: h2 is not connected to h1: retrying dial tcp4 198.18.0.1:6783: no route to host", false,
		},
		"too narrow": {
			func(f fake) network.Driver { return weave.HurriedSleeve(f.paths()) }, "established sleeve 7a:00:00:00:00:01(h1) mtu=1314",
			"weaver carries packets of 1314 bytes from h1 to h2, and the containers' MTU is 1376", false,
		},
		"another format": {
			func(f fake) network.Driver { return weave.HurriedSleeve(f.paths()) }, notUnderstood,
			`weaver on h1 was not ready within 3s: connection "-> 198.18.0.2:6783       <html>404</html>": the state "<html>404</html>" is not known`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connect(t, c.build(newFake(t, version, c.says)), lab.New())
			var wrong *network.WrongPath
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &wrong) != c.wrong {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestWeaversThatKnowNoWay: they are connected, and carry nothing yet.
func TestWeaversThatKnowNoWay(t *testing.T) {
	f := newFake(t, version, inSleeve)
	f.put("unrouted", "yes")
	_, err := connect(t, weave.HurriedSleeve(f.paths()), lab.New())
	if want := "h1 and h2 are connected, and the weaver on h1 knows no way to the other yet"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	// They learn of each other while they are waited for.
	time.AfterFunc(time.Second, func() { os.Remove(filepath.Join(f.dir, "unrouted")) })
	n, err := connect(t, weave.NewSleeve(f.paths()), lab.New())
	if err != nil {
		t.Fatal(err)
	}
	f.put("unrouted", "yes")
	if err := n.Broken(t.Context()); err == nil || !strings.Contains(err.Error(), "knows no way") {
		t.Errorf("after a way was lost: %v", err)
	}
}

// TestSmallUnderlay: Weave carries IPv4 alone, which has room where IPv6 has none.
func TestSmallUnderlay(t *testing.T) {
	f := newFake(t, version, "established sleeve 7a:00:00:00:00:01(h1) mtu=1196")
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1280}}
	n, err := weave.NewSleeve(f.paths()).Connect(t.Context(), topo, lab.New())
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.Background())
	err = nl.With(n.Servers[0].Facts().NetNS, func(in *nl.NS) error {
		all, err := in.Devices()
		if err == nil && (all[0].Name != "eth0" || all[0].MTU != 1196 || !slices.Equal(all[0].Addrs, []string{"198.19.0.2/16"})) {
			t.Errorf("the container has %v", all[0])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFallbackInMidRun(t *testing.T) {
	f := newFake(t, version, inFast)
	n, err := connect(t, weave.NewFastDatapath(f.paths()), lab.New())
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error { return n.Broken(t.Context()) }
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	f.says(inSleeve)
	var wrong *network.WrongPath
	if err := ask(); !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Finding, "Weave fell back") {
		t.Errorf("after the fallback: %v", err)
	}
	f.says("pending     fastdp 7a:00:00:00:00:01(h1)")
	if err := ask(); err == nil || err.Error() != "h1 is not connected to h2: pending fastdp 7a:00:00:00:00:01(h1)" {
		t.Errorf("after the connection was lost: %v", err)
	}
	// The tunnel's device is not there: what would have crossed it did not.
	for _, h := range n.Path(n.Clients[0], n.Servers[0], network.IPv4) {
		if c, err := h.Read(t.Context()); err != nil || strings.HasSuffix(h.Name, "/vxlan-6784") && c != (network.Count{}) {
			t.Errorf("%s: %+v, %v", h.Name, c, err)
		}
	}
}

func TestWeaverThatComplainsAndDies(t *testing.T) {
	f := newFake(t, version, inSleeve)
	f.put("log", "INFO: 2021/01/25 14:03:44.1 fine\nERRO: 2021/01/25 14:03:44.2 Captured frame from MAC (7a) to (7b) associated with another peer")
	n, err := connect(t, weave.NewSleeve(f.paths()), lab.New())
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(n.Remarks(), "\n")
	for _, want := range []string{"weaver is of the version 2.8.1", "weaver on h2 says: ERRO: 2021/01/25 14:03:44.2 Captured frame"} {
		if !strings.Contains(said, want) {
			t.Errorf("remarks %q, want %s", said, want)
		}
	}
	if strings.Contains(said, "fine") {
		t.Errorf("remarks %q", said)
	}
	if err := unix.Kill(n.Daemons[0].PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err = n.Broken(t.Context())
	for err == nil || !strings.HasPrefix(err.Error(), "weaver on h1 ended") { // until it is noticed
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		err = n.Broken(t.Context())
	}
}
