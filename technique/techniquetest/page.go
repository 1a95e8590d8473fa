package techniquetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/nl"
	"nettoll/platform"
	"nettoll/technique"
)

var update = flag.Bool("update", false, "write the pages of docs/techniques anew")

// page compares the technique's page with the network as it is now.
func page(t *testing.T, p platform.Platform, tech technique.Technique) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", tech.Name())
	fmt.Fprintf(&b, "<!-- Written by the conformance suite from real networks: go test ./technique/... -update -->\n\n")
	about := tech.About()
	fmt.Fprintf(&b, "%s%s.\n", strings.ToUpper(about[:1]), about[1:])
	for _, hosts := range tech.Hosts() {
		n := connect(t, p, tech, technique.Topology{Hosts: hosts, Servers: 1, Clients: 1})
		describe(t, &b, n, hosts)
	}
	path := filepath.Join(root(t), "docs", "techniques", tech.Name()+".md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the network is now (%v); go test ./technique/... -update writes it anew:\n%s", path, err, b.String())
	}
}

func describe(t *testing.T, b *strings.Builder, n technique.Network, hosts int) {
	client, server := n.Clients()[0], n.Servers()[0]
	fmt.Fprintf(b, "\n## On %d host%s\n\n", hosts, strings.Repeat("s", min(1, hosts-1)))
	for _, f := range []technique.Family{technique.IPv4, technique.IPv6} {
		a, err := n.Addr(client, server, f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "The client in `%s` reaches the server in `%s` at `%s`.\n", client.Name(), server.Name(), a)
	}
	b.WriteString("\n### Path\n\nThe payload must show on each of these counters:\n\n")
	for _, h := range n.Path(client, server, technique.IPv4) {
		absent := ""
		if h.Absent {
			absent = ", which it must **not** cross"
		}
		fmt.Fprintf(b, "- `%s` (%s)%s\n", h.Name, h.Kind, absent)
	}
	b.WriteString("\n### Devices and routes\n")
	for _, e := range places(n) {
		inv, err := nl.Inventory(e.NetNS())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "\n`%s`:\n\n```\n%s```\n", e.Name(), inv)
	}
	if f, ok := n.(interface{ Firewall() []string }); ok && len(f.Firewall()) > 0 {
		b.WriteString("\n### Firewall\n")
		for _, rules := range f.Firewall() {
			host, table, _ := strings.Cut(rules, ": ")
			fmt.Fprintf(b, "\n`%s`:\n\n```\n%s```\n", host, table)
		}
	}
}

// place is something with a name and a network namespace.
type place interface {
	platform.Endpoint
	platform.NetNSer
}

// places are the endpoints and hosts of a network, each namespace once.
func places(n technique.Network) (all []place) {
	seen := map[string]bool{}
	add := func(e platform.Endpoint) {
		if p, ok := e.(place); ok && !seen[p.NetNS()] {
			seen[p.NetNS()] = true
			all = append(all, p)
		}
	}
	add(n.Clients()[0])
	if h, ok := n.(interface{ Machines() []platform.Host }); ok {
		for _, h := range h.Machines() {
			add(h)
		}
	}
	add(n.Servers()[0])
	return all
}

// root is the top of the source tree.
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
