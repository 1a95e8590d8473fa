package networktest

import (
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nettoll/docker/engine"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
)

var update = flag.Bool("update", false, "write the pages of docs/networks anew")

// page compares the page of a network with the network as built in this run, perhaps not on all of its numbers of hosts.
func page(t *testing.T, s *subject) {
	var b strings.Builder
	title := strings.TrimSpace(s.network() + " " + s.flags)
	fmt.Fprintf(&b, "# %s\n\n", title)
	fmt.Fprintf(&b, "<!-- Written by the conformance suite from real networks: go test ./network/... -update -->\n\n")
	about := s.About
	fmt.Fprintf(&b, "%s%s.\n%s", strings.ToUpper(about[:1]), about[1:], s.engine)
	for _, hosts := range s.Hosts {
		b.WriteString(s.sections[hosts])
	}
	path := filepath.Join(root(t), "docs", "networks", strings.NewReplacer(":", "-", " --", "-", " ", "-").Replace(title)+".md")
	whole := len(s.sections) == len(s.Hosts)
	if *update {
		if !whole {
			t.Skip("only a part of the suite was run")
		}
		iferr.Fatal(t, os.WriteFile(path, []byte(b.String()), 0o644))
		return
	}
	got, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(got), s.version) {
		// Another version of the engine has other rules and devices, and chooses other addresses. Which paths are used is
		// nettoll's own claim.
		for hosts, hops := range s.paths {
			if !strings.Contains(string(got), hops) {
				t.Errorf("%s is of another version than %s, and yet ought to say of %d hosts:\n%s", path, s.version, hosts, hops)
			}
		}
		return
	}
	if !whole && err == nil {
		for hosts, section := range s.sections {
			if !strings.Contains(string(got), section) {
				t.Errorf("%s does not say of %d hosts:\n%s", path, hosts, section)
			}
		}
		return
	}
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the network is now (%v); go test ./network/... -update writes it anew:\n%s", path, err, b.String())
	}
}

// Page builds a network that the suite does not test, and compares its page with it, or writes the page
// with -update.
func Page(t *testing.T, p platform.Platform, prefix string, tech network.Driver) {
	on := newSubject(p, prefix, tech)
	for _, hosts := range tech.Hosts {
		n, err := tech.Connect(t.Context(), network.Topology{Hosts: hosts, Servers: 1, Clients: 1}, p)
		iferr.Fatal(t, err)
		describe(t, on, n, hosts)
		iferr.Fatal(t, n.Close(t.Context()))
	}
	page(t, on)
}

// describe writes the section of the page on a network on the given number of hosts.
func describe(t *testing.T, s *subject, n *network.Network, hosts int) {
	var b strings.Builder
	d := &description{Builder: &b, names: strings.NewReplacer()}
	if n.Page.MadeUp != nil {
		made := n.Page.MadeUp()
		d.names, d.plugins = strings.NewReplacer(made...), true
		for i := 0; i < len(made); i += 2 {
			_, err := netip.ParseAddr(made[i])
			d.addresses = d.addresses || err == nil
		}
	}
	fmt.Fprintf(d, "\n## On %d host%s\n\n", hosts, strings.Repeat("s", min(1, hosts-1)))
	engines := enginesOf(n)
	d.addressed(t, s, n)
	begin := d.Len()
	d.path(s, n)
	hops := d.String()[begin:]
	if len(engines) > 0 {
		if s.engine == "" {
			s.version, s.engine = introduction(t, engines[0])
		}
		d.daemons(t, n)
		d.commands(t, engines)
	}
	d.places(t, n)
	d.firewall(t, n, engines)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[hosts], s.sections[hosts] = hops, b.String()
}

// description is a section under construction.
type description struct {
	*strings.Builder
	names     *strings.Replacer
	plugins   bool // plugins, not an engine, made up the names that are replaced
	addresses bool // and addresses
}

// addressed writes which addresses endpoints use.
func (d *description) addressed(t *testing.T, s *subject, n *network.Network) {
	client, server := n.Clients[0], n.Servers[0]
	for _, f := range s.families() {
		a, err := n.Addr(client, server, f)
		iferr.Fatal(t, err)
		fmt.Fprintf(d, "The client in `%s` reaches the server in `%s` at `%s`.\n", client.Name(), server.Name(), d.names.Replace(a.String()))
	}
}

// path writes the path between them.
func (d *description) path(s *subject, n *network.Network) {
	d.WriteString("\n### Path\n\nThese counters prove the path:\n\n")
	for _, h := range n.Path(n.Clients[0], n.Servers[0], s.families()[0]) {
		absent := ""
		if h.Absent {
			absent = ", which the payload must **not** cross"
		}
		fmt.Fprintf(d, "- `%s` (%s)%s\n", h.Name, h.Kind, absent)
	}
}

// places lists what is in each network namespace.
func (d *description) places(t *testing.T, n *network.Network) {
	var b strings.Builder
	renamed := false
	for _, p := range places(t, n) {
		inv, err := nltest.Inventory(p.ns)
		iferr.Fatal(t, err)
		lines := strings.Split(strings.TrimSpace(d.names.Replace(inv)), "\n")
		slices.Sort(lines)
		renamed = renamed || d.names.Replace(inv) != inv
		fmt.Fprintf(&b, "\n`%s`:\n\n```\n%s\n```\n", strings.Join(p.names, "`, `"), strings.Join(slices.Compact(lines), "\n"))
	}
	d.WriteString("\n### Devices and routes\n")
	if renamed && d.addresses {
		d.WriteString("\nNames and addresses that plugins make up stand as what they belong to: `veth-h1c1` is the other end of a device of `h1c1`,\n`IPv4-h1c1` one of its addresses.\n")
	} else if renamed && d.plugins {
		d.WriteString("\nNames that plugins make up stand as what they belong to: `veth-h1c1` is the other end of a device of `h1c1`.\n")
	} else if renamed {
		d.WriteString("\nNames that the engine makes up stand as what they belong to: `veth-h1c1` is the other end of a device of `h1c1`,\n`br-NETWORK` the bridge of a network.\n")
	}
	d.WriteString(b.String())
}

// place is a network namespace and the endpoints and hosts in it.
type place struct {
	ns, id string
	names  []string
}

// places returns the namespaces of the endpoints and hosts of a network, each once.
func places(t *testing.T, n *network.Network) (all []*place) {
	add := func(e platform.Endpoint) {
		ns := e.Facts().NetNS
		if ns == "" {
			return
		}
		id, err := os.Readlink(ns)
		iferr.Fatal(t, err)
		i := slices.IndexFunc(all, func(p *place) bool { return p.id == id })
		if i < 0 {
			i, all = len(all), append(all, &place{ns: ns, id: id})
		}
		if !slices.Contains(all[i].names, e.Name()) {
			all[i].names = append(all[i].names, e.Name())
		}
	}
	add(n.Clients[0])
	for _, h := range n.Hosts {
		add(h)
	}
	add(n.Servers[0])
	for _, name := range slices.Sorted(maps.Keys(n.Page.Concealed)) {
		all = append(all, &place{ns: n.Page.Concealed[name], names: []string{name}})
	}
	return all
}

// enginesOf returns the hosts of a network that run engines.
func enginesOf(n *network.Network) (all []*engine.Host) {
	for _, h := range n.Hosts {
		if e, ok := h.(*engine.Host); ok {
			all = append(all, e)
		}
	}
	return all
}

// root returns the top of the source tree.
func root(t *testing.T) string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == "/" {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above the tests")
	return ""
}
