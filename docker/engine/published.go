package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"nettoll/internal/nl/nft"
	"nettoll/internal/nsexec"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// Firewall is how an engine filters and translates packets.
type Firewall struct {
	None   bool // it keeps no rules (--iptables=false): only docker-proxy publishes ports
	tables bool // its rules are in tables of nftables that iptables-save does not show
	h      *Host
}

// bridges is the table of nftables, one for each IP version, that has an engine's rules.
const bridges = "docker-bridges"

// Firewall returns the engine's firewall.
func (h *Host) Firewall(ctx context.Context) (Firewall, error) {
	f := Firewall{None: h.settings.NoIPTables, tables: h.settings.NFTables, h: h}
	if h.under != nil {
		return f, nil
	}
	res, err := h.info(ctx)
	if err != nil {
		return f, failed(err, "ask engine %s for its firewall", h.name)
	}
	if b := res.Info.FirewallBackend; b != nil {
		f.tables = strings.HasPrefix(b.Driver, "nftables") // also nftables+firewalld
	}
	if f.tables {
		t, err := f.read(netip.IPv4Unspecified())
		f.None = !t.Table
		return f, err
	}
	if v, err := h.Engine.Podman(ctx); v != "" || err != nil {
		return f, err // it makes its rules with the first container
	}
	text, err := h.rules(ctx, "iptables-save")
	f.None = err == nil && !strings.Contains(text, "\n:DOCKER ")
	return f, err
}

// Translations returns how many connections the rules have directed to a container's address so far. It needs root, and for
// rules of iptables the program iptables-save.
func (f Firewall) Translations(ctx context.Context, to netip.Addr) (uint64, error) {
	if f.tables {
		t, err := f.read(to)
		if err == nil && t.Rules == 0 {
			err = untranslated(to, "nft")
		}
		return t.Packets, err
	}
	program := "iptables-save"
	if to.Is6() {
		program = "ip6tables-save"
	}
	text, err := f.h.rules(ctx, program)
	if err != nil {
		return 0, err
	}
	count, found, err := translations(text, to)
	if err != nil {
		return 0, fmt.Errorf("docker: %s: %w", program, err)
	}
	if !found {
		return 0, untranslated(to, program)
	}
	return count, nil
}

// Rules returns the rules of a bridge that do not concern single containers, and what leads packets that are forwarded to them. Each is
// identified by its text, or in tables of nftables by where it is. It needs root, and for rules of iptables the program iptables-save.
func (f Firewall) Rules(ctx context.Context, bridge string) (all []string, err error) {
	if f.tables {
		return nft.Rules(f.h.NetNS(), bridges, bridge)
	}
	for _, program := range []string{"iptables-save", "ip6tables-save"} {
		out, err := nsexec.Output(ctx, f.h, program, "-t", "filter")
		if err != nil {
			return nil, wrap.Error(err, "docker: %s", program)
		}
		for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
			words := strings.Fields(s.Text())
			has := func(of ...string) bool {
				return slices.ContainsFunc(of, func(word string) bool { return slices.Contains(words, word) })
			}
			forAll := has("FORWARD") && !has("-i", "-o")
			if has("-A") && !has("-s", "-d") && (forAll || has(bridge)) {
				all = append(all, program+" "+s.Text())
			}
		}
	}
	return all, nil
}

// read reads the engine's table of the address's IP version.
func (f Firewall) read(to netip.Addr) (nft.Translation, error) {
	t, err := nft.ReadTranslation(f.h.NetNS(), bridges, to)
	if errors.Is(err, os.ErrPermission) {
		return t, unreadable("root", "run as root", err)
	}
	return t, wrap.Error(err, "docker")
}

// untranslated returns the error of an engine none of whose rules leads to a container.
func untranslated(to netip.Addr, program string) error {
	return unreadable("rules of the engine that "+program+" shows", "use another engine (--private-engine starts one), or docker:published-proxy",
		fmt.Errorf("no rule leads to %s", to))
}

func unreadable(option, remedy string, err error) error {
	return &platform.Unsupported{Feature: "proving the path of a published port", Option: option, Remedy: remedy, Err: err}
}

// rules returns the engine's NAT table, with counters.
func (h *Host) rules(ctx context.Context, program string) (string, error) {
	out, err := nsexec.Output(ctx, h, program, "-c", "-t", "nat")
	if err != nil {
		return "", unreadable("root and the program "+program, "run as root, with iptables installed", err)
	}
	return "\n" + out, nil
}

// translations adds up the counters of rules that direct connections to an address. A line is
// [packets:bytes] -A CHAIN … -j DNAT --to-destination ADDRESS:PORT, with IPv6 addresses
// in brackets.
func translations(text string, to netip.Addr) (count uint64, found bool, err error) {
	target := to.String() + ":"
	if to.Is6() {
		target = "[" + to.String() + "]:"
	}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		counters, rule, ok := strings.Cut(s.Text(), " -A ")
		_, destination, isDNAT := strings.Cut(rule, " -j DNAT --to-destination ")
		if !ok || !isDNAT || !strings.HasPrefix(destination, target) {
			continue
		}
		packets, _, ok := strings.Cut(strings.Trim(counters, "[]"), ":")
		if !ok {
			return 0, false, fmt.Errorf("unexpected line %q", s.Text())
		}
		n, err := strconv.ParseUint(packets, 10, 64)
		if err != nil {
			return 0, false, fmt.Errorf("unexpected counter in %q", s.Text())
		}
		count, found = count+n, true
	}
	return count, found, nil
}

// Proxies returns the PIDs of the docker-proxy processes that lead from ports of the host, from first to last, to a container's
// addresses. Containers of several engines can have the same ones: a private engine's proxies are in its own network namespace,
// and those of two engines in one namespace have different ports.
func (h *Host) Proxies(first, last int, at ...netip.Addr) (all []int, err error) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	var own os.FileInfo // nil: there are no others
	if h.under != nil {
		if own, err = os.Stat(h.NetNS()); err != nil {
			return nil, err
		}
	}
	for _, p := range procs {
		args, err := p.CmdLine()
		if err != nil || len(args) == 0 || filepath.Base(args[0]) != "docker-proxy" { // another process, or one that has ended
			continue
		}
		given := func(flag string) string {
			if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
				return args[i+1]
			}
			return ""
		}
		if to, err := netip.ParseAddr(given("-container-ip")); err != nil || !slices.Contains(at, to) {
			continue
		}
		if port, err := strconv.Atoi(given("-host-port")); err != nil || port < first || port > last {
			continue
		}
		if its, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", p.PID)); own == nil || err == nil && os.SameFile(own, its) {
			all = append(all, p.PID)
		}
	}
	return all, nil
}
