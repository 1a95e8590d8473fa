// Package nltest describes the configuration of a network namespace, for tests and for the pages of
// networks.
package nltest

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
)

// Inventory returns the whole configuration of a network namespace as text: devices with their
// addresses, routes and firewall tables, in a stable order and without values that differ from build
// to build (indexes, hardware addresses).
func Inventory(path string) (string, error) {
	var lines []string
	err := nl.With(path, func(n *nl.NS) error {
		devices, err := n.Devices()
		if err != nil {
			return err
		}
		for _, d := range devices {
			lines = append(lines, device(d))
		}
		all, err := routes(n)
		lines = append(lines, all...)
		return err
	})
	if err != nil {
		return "", err
	}
	tables, err := nl.FirewallTables(path)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range tables {
		names = append(names, "table "+t.Name)
	}
	slices.Sort(names)
	return strings.Join(append(lines, names...), "\n") + "\n", nil
}

func device(d nl.Device) string {
	s := fmt.Sprintf("device %s (%s) mtu %d", d.Name, d.Kind, d.MTU)
	if d.Master != "" {
		s += " on " + d.Master
	}
	// The kernel lists them in the order in which they were added, and programs such as kube-proxy add them in any.
	addrs := slices.SortedFunc(slices.Values(d.Addrs), func(a, b string) int {
		return netip.MustParsePrefix(a).Addr().Compare(netip.MustParsePrefix(b).Addr())
	})
	return strings.Join(append([]string{s}, addrs...), " ")
}

// routes returns the routes of the main table, except those to multicast and link-local addresses.
func routes(n *nl.NS) (all []string, err error) {
	found, err := n.MainTable()
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		s := "route " + nl.Destination(r.Dst)
		if r.Type == unix.RTN_BLACKHOLE {
			s = "route blackhole " + nl.Destination(r.Dst)
		}
		if r.Gw != nil {
			s += " via " + r.Gw.String()
		}
		if l, err := n.LinkByIndex(r.LinkIndex); err == nil {
			s += " dev " + l.Attrs().Name
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return all, nil
}

// besides are the parts of nft's output to remove: counters (first and by name), their values, and priorities.
var besides = []struct {
	text *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?s)\tcounter rule\d+ \{.*?\n\t\}\n`), ""},
	{regexp.MustCompile(`counter (name "rule\d+"|packets \d+ bytes \d+)`), "counter"},
	{regexp.MustCompile(`(chain [\w-]+ \{)\n\t\t(type \w+ hook \w+) priority [\w-]+; `), "$1 $2; "},
	{regexp.MustCompile(`\n\n+`), "\n"},
}

// Rules returns what "nft list" prints of tables in the network namespace at path, without counters.
func Rules(ctx context.Context, path string, of ...string) (text string, err error) {
	err = netns.Do(path, func() error {
		out, err := exec.CommandContext(ctx, "nft", append([]string{"list"}, of...)...).Output()
		text = string(out)
		return err
	})
	for _, b := range besides {
		text = b.text.ReplaceAllString(text, b.to)
	}
	return text, err
}
