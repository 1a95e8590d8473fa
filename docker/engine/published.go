package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"nettoll/internal/nsexec"
	"nettoll/platform"
)

// KeepsNoRules reports whether the engine keeps no firewall rules (--iptables=false). Rules that it keeps where iptables-save
// does not show them are an error.
func (h *Host) KeepsNoRules(ctx context.Context) (bool, error) {
	if h.under != nil {
		return h.settings.NoIPTables, nil
	}
	res, err := h.info(ctx)
	if err != nil {
		return false, failed(err, "ask engine %s for its firewall", h.name)
	}
	if b := res.Info.FirewallBackend; b != nil && strings.HasPrefix(b.Driver, "nftables") { // also nftables+firewalld
		return false, unseen(fmt.Errorf("its firewall backend is %s", b.Driver))
	}
	text, err := h.rules(ctx, "iptables-save")
	return err == nil && !strings.Contains(text, "\n:DOCKER "), err
}

// Translations returns how many connections the engine's rules have directed to a container's address
// so far. It runs the program iptables-save, which requires root.
func (h *Host) Translations(ctx context.Context, to netip.Addr) (uint64, error) {
	program := "iptables-save"
	if to.Is6() {
		program = "ip6tables-save"
	}
	text, err := h.rules(ctx, program)
	if err != nil {
		return 0, err
	}
	count, found, err := translations(text, to)
	if err != nil {
		return 0, fmt.Errorf("docker: %s: %w", program, err)
	}
	if !found {
		return 0, unseen(fmt.Errorf("no rule leads to %s", to))
	}
	return count, nil
}

// unseen returns the error of an engine whose rules iptables-save does not show.
func unseen(why error) error {
	return &platform.Unsupported{
		Feature: "proving the path of a published port", Option: "rules of the engine that iptables-save shows",
		Remedy: "use an engine whose firewall backend is iptables (--private-engine starts one), or docker:published-proxy", Err: why,
	}
}

// rules returns the engine's NAT table, with counters.
func (h *Host) rules(ctx context.Context, program string) (string, error) {
	var out bytes.Buffer
	if err := nsexec.Run(ctx, h, platform.Command{Path: program, Args: []string{"-c", "-t", "nat"}, Stdout: &out}); err != nil {
		return "", &platform.Unsupported{
			Feature: "proving the path of a published port", Option: "root and the program " + program,
			Remedy: "run as root, with iptables installed", Err: err,
		}
	}
	return "\n" + out.String(), nil
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

// Proxies returns the PIDs of the docker-proxy processes that serve a container's addresses. Containers of several private engines can
// have the same ones: such an engine's proxies are in its own network namespace.
func (h *Host) Proxies(at ...netip.Addr) (all []int, err error) {
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
		i := slices.Index(args, "-container-ip")
		if i < 0 || i+1 == len(args) {
			continue
		}
		if to, err := netip.ParseAddr(args[i+1]); err != nil || !slices.Contains(at, to) {
			continue
		}
		if its, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", p.PID)); own == nil || err == nil && os.SameFile(own, its) {
			all = append(all, p.PID)
		}
	}
	return all, nil
}
