package networktest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/docker/engine"
	"nettoll/internal/emulated"
	"nettoll/internal/netns"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/testutil/iferr"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// comesAndGoes builds networks on hosts that are kept, checks addresses and paths, takes the
// networks down, and compares the state of the hosts before and after. The first network is
// described for the page. It then does the same with a network that is cancelled before it begins,
// and with one that is cancelled half-way.
func comesAndGoes(t *testing.T, s *subject, hosts int) {
	on, kept := s.keep(t, hosts)
	before := State(t, kept.All()...)
	var took time.Duration
	sizes := [][2]int{{1, 1}, {2, 3}}
	if s.slow() {
		sizes = sizes[:1] // the larger one is covered by the traffic tests
	}
	for _, size := range sizes {
		topo := network.Topology{Hosts: hosts, Servers: size[0], Clients: size[1]}
		begun := time.Now()
		n, err := s.Connect(t.Context(), topo, on)
		iferr.Fatal(t, err)
		took = time.Since(begun)
		endpoints(t, s, n, topo)
		if topo.Clients == 1 {
			describe(t, s, n, hosts)
		}
		for range 2 { // closing twice must do no harm
			if err := n.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		Same(t, "when it was closed", before, State(t, kept.All()...))
	}
	topo := network.Topology{Hosts: hosts, Servers: 2, Clients: 2}
	for when, patience := range map[string]time.Duration{"before it was begun": 0, "half-way": took / 2} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		n, err := s.Connect(ctx, topo, on)
		switch {
		case err == nil:
			if err := n.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		case ctx.Err() == nil || patience == 0 && !errors.Is(err, ctx.Err()):
			t.Errorf("given up %s: %v", when, err)
		}
		cancel()
		Same(t, "when it was given up "+when, before, State(t, kept.All()...))
	}
}

// The ranges set aside for benchmarking, RFC 2544 and RFC 5180.
var (
	range4 = netip.MustParsePrefix("198.18.0.0/15")
	range6 = netip.MustParsePrefix("2001:2::/48")
)

func endpoints(t *testing.T, s *subject, n *network.Network, topo network.Topology) {
	if got := len(n.Servers); got != topo.Servers {
		t.Fatalf("%d servers, want %d", got, topo.Servers)
	}
	if got := len(n.Clients); got != topo.Clients {
		t.Fatalf("%d clients, want %d", got, topo.Clients)
	}
	whereabouts(t, n)
	if len(n.Daemons) > 0 && !s.Carried {
		t.Errorf("%d daemons carry the payload, and its Info does not say so", len(n.Daemons))
	}
	for i, c := range n.Clients {
		to := n.Servers[topo.Pair(i)]
		for _, f := range s.families() {
			a, err := n.Addr(c, to, f)
			if err != nil {
				t.Error(err)
				continue
			}
			if a.Is6() != (f == network.IPv6) {
				t.Errorf("%s is not an address of family %d", a, f)
			}
			if !a.IsLoopback() && !range4.Contains(a) && !range6.Contains(a) {
				t.Errorf("%s is outside the ranges for benchmarking", a)
			}
			if len(n.Path(c, to, f)) == 0 {
				t.Errorf("no path from %s to %s", c.Name(), to.Name())
			}
			ownAddress(t, n, c, to, f)
		}
	}
}

// whereabouts checks that endpoints and daemons name hosts of the network.
func whereabouts(t *testing.T, n *network.Network) {
	t.Helper()
	hosts := map[string]bool{}
	for _, h := range n.Hosts {
		hosts[h.Name()] = true
		if h.OnHost() != h.Name() {
			t.Errorf("the host %s says that it is on %q", h.Name(), h.OnHost())
		}
	}
	if len(hosts) == 0 {
		t.Error("the network shows no hosts")
	}
	for _, e := range slices.Concat(n.Servers, n.Clients) {
		if !hosts[e.OnHost()] {
			t.Errorf("%s is on %q, which is not a host of the network", e.Name(), e.OnHost())
		}
	}
	for _, p := range n.Daemons {
		if !hosts[p.Host] {
			t.Errorf("daemon %d is on %q, which is not a host of the network", p.PID, p.Host)
		}
	}
}

// ownAddress checks that the address on which a server is to listen is one of its own.
func ownAddress(t *testing.T, n *network.Network, from, to platform.Endpoint, f network.Family) {
	t.Helper()
	own, err := n.Own(from, to, f)
	if err != nil {
		t.Error(err)
		return
	}
	ns := to.Facts().NetNS
	if ns == "" {
		return
	}
	err = netns.Do(ns, func() error {
		has, err := net.InterfaceAddrs()
		if err == nil && !slices.ContainsFunc(has, func(a net.Addr) bool { return strings.HasPrefix(a.String(), own.String()+"/") }) {
			t.Errorf("%s is told to listen on %s, and has %v", to.Name(), own, has)
		}
		return err
	})
	iferr.Error(t, err)
}

// patience bounds the time to make hosts, to capture packets, and for an answer; it is not an expected time.
const patience = 3 * time.Minute

// keep returns hosts that remain when the networks on them are closed, and a platform that builds
// networks on them.
func (s *subject) keep(t *testing.T, n int) (platform.Platform, platform.Hosts) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), emulated.Patience(patience))
	defer cancel()
	req := platform.HostRequest{Count: n}
	if !s.engines {
		return Keep(t, s.platform, n)
	}
	// Hosts with engines remain anyway. The engines' settings decide which hosts are used.
	ask := s.platform.Hosts
	if s.own() {
		ask = func(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
			return s.HostsOn(ctx, s.platform, req)
		}
	}
	hosts, err := ask(ctx, req)
	iferr.Fatal(t, err)
	if k, ok := hosts.(*kube.Hosts); ok {
		touch(t, k.Cluster)
	}
	for _, h := range hosts.All() { // loads the image beforehand, which engines keep
		if d, ok := h.(*engine.Host); ok {
			if _, err := d.Engine.Load(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Closed hosts with engines are kept, and the next network is built on them. While they are in use, it would get others.
	iferr.Fatal(t, hosts.Close(ctx))
	return s.platform, hosts
}

// touched has the clusters on whose nodes a pod has run.
var touched sync.Map

// touch runs a pod on each node of a cluster: the bridge that is made for it stays, so it must exist before the state of the
// hosts is read for the first time.
func touch(t *testing.T, k *kube.Cluster) {
	t.Helper()
	if _, done := touched.LoadOrStore(k, true); done {
		return
	}
	var pods []kube.PodSpec
	for _, n := range k.Nodes {
		pods = append(pods, kube.PodSpec{Node: n})
	}
	if _, err := k.Run(t.Context(), pods...); err != nil {
		t.Fatal(err)
	}
}

// Keep returns hosts that remain when networks on them are closed, and a platform that builds
// networks on them.
func Keep(t *testing.T, p platform.Platform, n int) (platform.Platform, platform.Hosts) {
	t.Helper()
	hosts, err := p.Hosts(t.Context(), platform.HostRequest{Count: n})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	return kept{p, stay{hosts}}, hosts
}

type kept struct {
	platform.Platform
	hosts stay
}

// Hosts implements platform.Platform.
func (k kept) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return k.hosts, nil
}

type stay struct{ platform.Hosts }

func (stay) Close(context.Context) error { return nil }

func (stay) Transient() bool { return false }

// Pair is one client and one server, on two hosts.
var Pair = network.Topology{Hosts: 2, Servers: 1, Clients: 1}

// Build builds a network in the lab that is closed at the end of the test. If something is missing here for it, the test is
// skipped, or fails if it must not be.
func Build(t *testing.T, tech network.Driver, topo network.Topology) *network.Network {
	t.Helper()
	if err := tech.Probe(t.Context(), lab.New()); err != nil {
		skipLacking(t, err)
	}
	n, err := tech.Connect(t.Context(), topo, lab.New())
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, n.Close(context.Background())) })
	return n
}

// Killed kills a process of a network, and checks that the network says so, in an error that begins with a text.
func Killed(t *testing.T, n *network.Network, pid int, want string) {
	t.Helper()
	iferr.Error(t, n.Broken(t.Context()))
	iferr.Fatal(t, unix.Kill(pid, unix.SIGKILL))
	var err error
	for over := time.Now().Add(time.Minute); err == nil && time.Now().Before(over); err = n.Broken(t.Context()) {
		time.Sleep(time.Millisecond) // the end is noticed by another goroutine
	}
	if err == nil || !strings.HasPrefix(err.Error(), want+" ended (signal: killed)") {
		t.Errorf("%v, want that %s ended", err, want)
	}
}

// TooNarrow checks that a network is refused on an underlay with the given MTU, with an error whose
// requirement begins with want, before anything depends on the kernel or on a program.
func TooNarrow(t *testing.T, tech network.Driver, mtu int, want string) {
	t.Helper()
	topo := Pair
	topo.Underlay.MTU = mtu
	n, err := tech.Connect(t.Context(), topo, lab.New())
	want = fmt.Sprintf("%s on an underlay with the MTU %d: not supported here (needs %s", tech.Name, mtu, want)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, %v, want %s", n, err, want)
	}
}

// State returns everything that a network could leave on hosts, one line each: devices, routes,
// firewall rules, kernel parameters, and the objects of engines.
func State(t *testing.T, hosts ...platform.Host) (lines []string) {
	t.Helper()
	for _, h := range hosts {
		ns := h.Facts().NetNS
		inv, err := nltest.Inventory(ns)
		iferr.Fatal(t, err)
		all := append(strings.Split(strings.TrimSpace(inv), "\n"), parameters(t, ns)...)
		if d, ok := h.(*engine.Host); ok {
			all = slices.DeleteFunc(all, func(l string) bool { return l == "table raw" }) // see Rules
			all = append(append(all, objects(t, d)...), Rules(t, d)...)
		}
		if n, ok := h.(*kube.Node); ok {
			all = append(all, ofPlugins(Rules(t, n))...)
		}
		for _, l := range all {
			lines = append(lines, h.Name()+": "+l)
		}
	}
	return lines
}

// ofPlugins returns the rules without those of kube-proxy, kubelet and felix, which change some time after services and pods
// do.
func ofPlugins(rules []string) []string {
	return slices.DeleteFunc(rules, func(r string) bool { return strings.Contains(r, "KUBE-") || strings.Contains(r, "cali-") })
}

// changing matches kernel parameters that are not settings.
var changing = regexp.MustCompile(`nf_conntrack_count|stable_secret`)

// parameters returns the kernel parameters of a network namespace.
func parameters(t *testing.T, ns string) (all []string) {
	t.Helper()
	const root = "/proc/sys/net"
	err := netns.Do(ns, func() error {
		return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || changing.MatchString(path) {
				return err
			}
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) {
				return nil // write-only
			}
			all = append(all, "parameter "+strings.TrimPrefix(path, root+"/")+" = "+strings.Join(strings.Fields(string(b)), " "))
			return err
		})
	})
	iferr.Fatal(t, err)
	return all
}

// Same reports the differences between two states of hosts.
func Same(t *testing.T, when string, before, after []string) {
	t.Helper()
	count := map[string]int{}
	for _, l := range after {
		count[l]++
	}
	for _, l := range before {
		count[l]--
	}
	for l, n := range count {
		switch {
		case n > 0:
			t.Errorf("%s, this is new: %s", when, l)
		case n < 0:
			t.Errorf("%s, this is gone: %s", when, l)
		}
	}
}
