package weave_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/await"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/networktest"
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

	sleeve, sealed, fast = "weave-sleeve", "weave-sleeve-encrypted", "weave-fastdp"
)

func connect(t *testing.T, tech network.Driver, p platform.Platform) (*network.Network, error) {
	t.Helper()
	n, err := tech.Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p)
	var missing *platform.Unsupported
	if errors.As(err, &missing) && missing.Program == "iptables" {
		platformtest.Require(t, "iptables", err)
	}
	if err == nil {
		t.Cleanup(func() { iferr.Error(t, n.Close(context.Background())) })
	}
	return n, err
}

// refused checks that a network of weavers that never do what they should is refused with an error that contains a text, in
// which PATIENCE stands for their time. They get more if they do not say in time what they do. wrong is whether the
// error is a finding about the path.
func refused(t *testing.T, name string, f fake, want string, wrong bool) {
	t.Helper()
	var err error
	for _, slow := range []time.Duration{1, 10} { // on a busy machine
		patience := 3 * slow * time.Second
		_, err = connect(t, weave.Hurried(name, f.paths(), patience, 300*slow*time.Millisecond), lab.New())
		var finding *network.WrongPath
		if err != nil && strings.Contains(err.Error(), strings.ReplaceAll(want, "PATIENCE", patience.String())) && errors.As(err, &finding) == wrong {
			return
		}
	}
	t.Errorf("%v, want %s", err, want)
}

func TestWeaversThatDoOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		name  string
		says  string
		want  string
		wrong bool // whether it is a finding about the path
	}{
		"fallback": {
			fast, inSleeve,
			"Weave fell back from its fast datapath to sleeve silently, between h1 and h2", true,
		},
		"fast": {
			sleeve, inFast,
			"Weave uses its fast datapath, although it was told not to, between h1 and h2", true,
		},
		"in the clear": {
			sealed, inSleeve,
			"Weave does not encrypt, although it was given a password, between h1 and h2", true,
		},
		"encrypted": {
			sleeve, inSecret,
			"Weave encrypts, although it was given no password, between h1 and h2", true,
		},
		"never connected": {
			sleeve, "retrying    dial tcp4 198.18.0.1:6783: no route to host",
			"weaver on h2 was not ready within PATIENCE: h2 is not connected to h1: retrying dial tcp4 198.18.0.1:6783: no route to host", false,
		},
		"too narrow": {
			sleeve, "established sleeve 7a:00:00:00:00:01(h1) mtu=1314",
			"weaver carries packets of 1314 bytes from h1 to h2, but the containers' MTU is 1376", false,
		},
		"another format": {
			sleeve, notUnderstood,
			`weaver on h1 was not ready within PATIENCE: connection "-> 198.18.0.2:6783       <html>404</html>": the state "<html>404</html>" is not known`, false,
		},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.name, newFake(t, version, c.says), c.want, c.wrong) })
	}
}

// TestWeaversThatKnowNoWay has weavers that are connected, but carry nothing yet.
func TestWeaversThatKnowNoWay(t *testing.T) {
	f := newFake(t, version, inSleeve)
	f.put("unrouted", "yes")
	refused(t, sleeve, f, "h1 and h2 are connected, but the weaver on h1 knows no route to the other yet", false)
	// They learn of each other while Connect waits for them.
	time.AfterFunc(time.Second, func() { os.Remove(filepath.Join(f.dir, "unrouted")) })
	n, err := connect(t, weave.Named(sleeve, f.paths()), lab.New())
	iferr.Fatal(t, err)
	f.put("unrouted", "yes")
	if err := n.Broken(t.Context()); err == nil || !strings.Contains(err.Error(), "knows no route") {
		t.Errorf("after a way was lost: %v", err)
	}
}

// TestSmallUnderlay has an underlay that is too small for IPv6. Weave carries IPv4 only.
func TestSmallUnderlay(t *testing.T) {
	f := newFake(t, version, "established sleeve 7a:00:00:00:00:01(h1) mtu=1196")
	topo := network.Topology{Hosts: 2, Servers: 1, Clients: 1, Underlay: platform.Underlay{MTU: 1280}}
	n, err := weave.Named(sleeve, f.paths()).Connect(t.Context(), topo, lab.New())
	iferr.Fatal(t, err)
	defer n.Close(context.Background())
	err = nl.With(n.Servers[0].Facts().NetNS, func(in *nl.NS) error {
		all, err := in.Devices()
		if err == nil && (all[0].Name != "eth0" || all[0].MTU != 1196 || !slices.Equal(all[0].Addrs, []string{"198.19.0.2/16"})) {
			t.Errorf("the container has %v", all[0])
		}
		return err
	})
	iferr.Error(t, err)
}

func TestFallbackInMidRun(t *testing.T) {
	f := newFake(t, version, inFast)
	n, err := connect(t, weave.Named(fast, f.paths()), lab.New())
	iferr.Fatal(t, err)
	ask := func() error { return n.Broken(t.Context()) }
	iferr.Fatal(t, ask())
	f.says(inSleeve)
	var wrong *network.WrongPath
	if err := ask(); !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Finding, "Weave fell back") {
		t.Errorf("after the fallback: %v", err)
	}
	f.says("pending     fastdp 7a:00:00:00:00:01(h1)")
	if err := ask(); err == nil || err.Error() != "h1 is not connected to h2: pending fastdp 7a:00:00:00:00:01(h1)" {
		t.Errorf("after the connection was lost: %v", err)
	}
	// The tunnel's device does not exist, so nothing has crossed it.
	for _, h := range n.Path(n.Clients[0], n.Servers[0], network.IPv4) {
		if c, err := h.Read(t.Context()); err != nil || strings.HasSuffix(h.Name, "/vxlan-6784") && c != (network.Count{}) {
			t.Errorf("%s: %+v, %v", h.Name, c, err)
		}
	}
}

func TestWeaverThatComplainsAndDies(t *testing.T) {
	f := newFake(t, version, inSleeve)
	f.put("log", "INFO: 2021/01/25 14:03:44.1 fine\nERRO: 2021/01/25 14:03:44.2 Captured frame from MAC (7a) to (7b) associated with another peer")
	n, err := connect(t, weave.Named(sleeve, f.paths()), lab.New())
	iferr.Fatal(t, err)
	said := ""
	err = await.Until(t.Context(), time.Minute, time.Millisecond, func(context.Context) (missing, _ error) { // their output is read by another goroutine
		if said = strings.Join(n.Remarks(network.IPv4), "\n"); !strings.Contains(said, "weaver on h2 says: ") {
			missing = errors.New("the weaver on h2 says nothing")
		}
		return missing, nil
	})
	iferr.Error(t, err)
	for _, want := range []string{"weaver is version 2.8.1", "weaver on h2 says: ERRO: 2021/01/25 14:03:44.2 Captured frame"} {
		if !strings.Contains(said, want) {
			t.Errorf("remarks %q, want %s", said, want)
		}
	}
	if strings.Contains(said, "fine") {
		t.Errorf("remarks %q", said)
	}
	iferr.Fatal(t, unix.Kill(n.Daemons[0].PID, unix.SIGKILL))
	err = n.Broken(t.Context())
	for err == nil || !strings.HasPrefix(err.Error(), "weaver on h1 ended") { // until the exit is noticed
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		err = n.Broken(t.Context())
	}
}

func TestVersions(t *testing.T) {
	for said, want := range map[string]string{
		"weave router 1.9.8":                "it is version 1.9.8, but only 2.x is known to work",
		"weave router (unreleased version)": "it is version unreleased, but only 2.x is known to work",
		"weave 3.0":                         "it is version 3.0, but only 2.x is known to work",
		"usage: weaver CLOTH\nmore":         `it is not weaver: its answer to --version is "usage: weaver CLOTH"`,
		"":                                  `it is not weaver: its answer to --version is ""`,
	} {
		err := weave.Named(sleeve, newFake(t, said, inSleeve).paths()).Probe(t.Context(), lab.New())
		var missing *platform.Unsupported
		if !errors.As(err, &missing) || !strings.HasSuffix(err.Error(), want) || !strings.Contains(missing.Remedy, "--tool-path weaver=FILE") {
			t.Errorf("%q: %v, want %s", said, err, want)
		}
	}
	for _, said := range []string{"weave 2.8.1", "weave 2.6", "weave unreleased", "weave git-34de0b10a69c", "weave (unreleased version)"} {
		if err := weave.Named(sleeve, newFake(t, said, inSleeve).paths()).Probe(t.Context(), lab.New()); err != nil {
			t.Errorf("%q: %v", said, err)
		}
	}
}

func TestWeaverThatDoesNotStart(t *testing.T) {
	const said = "FATA: 2021/01/25 14:03:44.000000 creating dummy interface: operation not supported"
	f := newFake(t, version, inSleeve)
	f.put("refusal", "creating dummy interface: operation not supported")
	tech := weave.Named(sleeve, f.paths())
	_, err := connect(t, tech, lab.New())
	if want := "weaver on h1 ended (exit status 1): it says: " + said; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// Probe runs weaver where the kernel has no such device.
	if err := tech.Probe(t.Context(), lab.New()); err != nil {
		var missing *platform.Unsupported
		if !errors.As(err, &missing) || missing.Option != "CONFIG_DUMMY" || !strings.HasSuffix(err.Error(), said) {
			t.Error(err)
		}
	}
}

// TestNothingIsLeft has hosts with tables in their firewall already, so that weaver's rules do not
// disappear along with the tables.
func TestNothingIsLeft(t *testing.T) {
	_, err := exec.LookPath("iptables")
	platformtest.Require(t, "iptables", err)
	on, hosts := networktest.Keep(t, lab.New(), 2)
	for _, h := range hosts.All() {
		for _, table := range []string{"filter", "nat", "mangle"} {
			keep := platform.Command{Path: "iptables", Args: []string{"-w", "-t", table, "-N", "KEEP"}}
			iferr.Fatal(t, nsexec.Run(t.Context(), h, keep))
		}
	}
	state := func() []string {
		all := networktest.State(t, hosts.All()...)
		for _, h := range hosts.All() {
			all = append(all, networktest.Rules(t, h)...)
		}
		return all
	}
	before := state()
	for _, says := range []string{inSleeve, inFast} {
		f := newFake(t, version, says)
		tech := weave.Named(sleeve, f.paths())
		if says == inFast { // which they never do
			tech = weave.Hurried(sleeve, f.paths(), time.Minute, time.Second)
		}
		n, err := connect(t, tech, on)
		if (err == nil) != (says == inSleeve) {
			t.Fatal(err)
		}
		if err == nil {
			iferr.Error(t, n.Close(t.Context()))
		}
		networktest.Same(t, "after weavers that say "+says, before, state())
	}
}
