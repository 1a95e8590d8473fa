package networktest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/network"
)

// introduction says what the engine is, and how it was started.
func introduction(t *testing.T, h *engine.Host) (version, text string) {
	t.Helper()
	facts, err := h.Engine.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	version = "Docker Engine " + facts["engine"]
	said := fmt.Sprintf("API %s, storage driver %s, runtime %s", facts["api"], facts["storage"], facts["runtime"])
	if firewall, ok := facts["firewall"]; ok {
		said += ", firewall " + firewall
	}
	return version, fmt.Sprintf("\nSeen on %s (%s), which was started by\n\n```\n%s\n```\n", version, said, dockerdCommand(t, h))
}

// daemons says which processes carry the payload.
func (d *description) daemons(t *testing.T, n *network.Network) {
	t.Helper()
	count := map[string]int{}
	for _, p := range n.Daemons {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		program, _, _ := bytes.Cut(b, []byte{0})
		count[filepath.Base(string(program))]++
	}
	for _, program := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(d, "\nIts %d processes `%s` carry the payload in user space, one for each port, protocol and address.\n", count[program], program)
	}
}

// commands is what would make the same by hand. It finds the stable names, too.
func (d *description) commands(t *testing.T, engines []*engine.Host) {
	t.Helper()
	d.names = stable(t, engines...)
	var b strings.Builder
	for _, h := range engines {
		if lines := byHand(t, h); len(lines) > 0 {
			fmt.Fprintf(&b, "\nOn `%s`:\n\n```\n%s\n```\n", h.Name(), d.names.Replace(strings.Join(lines, "\n")))
		}
	}
	if b.Len() > 0 {
		fmt.Fprintf(d, "\n### By hand\n%s", b.String())
	}
}

// firewall is the rules that packets can meet: those of the network, and those of
// engines where the path goes through a host.
func (d *description) firewall(t *testing.T, n *network.Network, engines []*engine.Host) {
	t.Helper()
	var b strings.Builder
	for _, rules := range n.Page.Firewall {
		host, table, _ := strings.Cut(rules, ": ")
		fmt.Fprintf(&b, "\n`%s`:\n\n```\n%s```\n", host, table)
	}
	var texts []string
	with := map[string][]string{} // hosts, by what their engines keep
	for _, h := range engines {
		if through(n, h) {
			text := d.kept(t, h)
			if len(with[text]) == 0 {
				texts = append(texts, text)
			}
			with[text] = append(with[text], "`"+h.Name()+"`")
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&b, "\nBy the engine of %s: %s", strings.Join(with[text], " and that of "), text)
	}
	if b.Len() > 0 {
		fmt.Fprintf(d, "\n### Firewall\n%s", b.String())
	}
}

// kept says what rules an engine keeps, and which bridged packets meet them.
func (d *description) kept(t *testing.T, h *engine.Host) string {
	t.Helper()
	all := ranged(Rules(t, h))
	if len(all) == 0 {
		return "no rules.\n"
	}
	text := "rules as follow. Those that differ in nothing but the port stand once.\n"
	for _, program := range []string{"iptables", "ip6tables"} {
		key := "net/bridge/bridge-nf-call-" + program
		bridged, err := netns.Sysctl(h.NetNS(), key)
		if err != nil {
			bridged = "missing"
		}
		var some []string
		for _, r := range all {
			if of, rule, _ := strings.Cut(r, " "); of == program {
				some = append(some, d.names.Replace(rule))
			}
		}
		if len(some) > 0 {
			text += fmt.Sprintf("\n`%s-save` (`%s` is %s):\n\n```\n%s\n```\n", program, strings.ReplaceAll(key, "/", "."), bridged, strings.Join(some, "\n"))
		}
	}
	return text
}

// through says whether packets pass a host by more than its uplink.
func through(n *network.Network, h *engine.Host) bool {
	hops := n.Path(n.Clients[0], n.Servers[0], network.IPv4)
	return slices.ContainsFunc(hops, func(hop network.Hop) bool {
		what, on := strings.CutPrefix(hop.Name, h.Name()+"/")
		return on && what != "lo" && what != h.Uplink().Device
	})
}
