package networktest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	dockernet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/platformtest"
)

// introduction returns the engine's version, and text on what the engine is and how it was started.
func introduction(t *testing.T, h *engine.Host) (version, text string) {
	t.Helper()
	res, err := h.Engine.Client.Info(t.Context(), client.InfoOptions{})
	iferr.Fatal(t, err)
	i := res.Info
	version = "Docker Engine " + i.ServerVersion
	said := fmt.Sprintf("API %s, storage driver %s, runtime %s", h.Engine.Client.ClientVersion(), i.Driver, i.DefaultRuntime)
	if i.FirewallBackend != nil {
		said += ", firewall " + i.FirewallBackend.Driver
	}
	return version, fmt.Sprintf("\nSeen on %s (%s), which was started by\n\n```\n%s\n```\n", version, said, dockerdCommand(t, h))
}

// daemons writes which processes carry the payload.
func (d *description) daemons(t *testing.T, n *network.Network) {
	t.Helper()
	count := map[string]int{}
	for _, p := range n.Daemons {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
		iferr.Fatal(t, err)
		program, _, _ := bytes.Cut(b, []byte{0})
		count[filepath.Base(string(program))]++
	}
	for _, program := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(d, "\nIts %d processes `%s` carry the payload in user space, one for each port, protocol and address.\n", count[program], program)
	}
}

// commands writes the commands that would make the same by hand. It also finds the stable names.
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

// firewall writes the rules that packets can meet: those of the network, and those of engines where
// the path goes through a host.
func (d *description) firewall(t *testing.T, n *network.Network, engines []*engine.Host) {
	t.Helper()
	var b strings.Builder
	for _, h := range n.Hosts {
		if rules := d.names.Replace(ownRules(t, h)); rules != "" {
			fmt.Fprintf(&b, "\n`%s`:\n\n```\n%s```\n", h.Name(), rules)
		}
	}
	var texts []string
	with := map[string][]string{} // hosts, by the rules of their engines
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

// kept returns text on the rules that an engine keeps, and on whether bridged packets meet them.
func (d *description) kept(t *testing.T, h *engine.Host) string {
	t.Helper()
	all, tables := ranged(Rules(t, h)), d.tables(t, h)
	if len(all) == 0 && tables == "" {
		return "no rules.\n"
	}
	text := "rules as follow. Those that differ in nothing but the port stand once.\n" + tables
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

// through reports whether packets cross a host by more than its uplink.
func through(n *network.Network, h *engine.Host) bool {
	hops := n.Path(n.Clients[0], n.Servers[0], network.IPv4)
	return slices.ContainsFunc(hops, func(hop network.Hop) bool {
		what, on := strings.CutPrefix(hop.Name, h.Name()+"/")
		return on && what != "lo" && what != h.Uplink().Device
	})
}

// byHand returns the commands that make the same networks and containers on an engine, from the
// engine's own description of them.
func byHand(t *testing.T, h *engine.Host) (lines []string) {
	t.Helper()
	networks, err := h.Engine.Client.NetworkList(t.Context(), client.NetworkListOptions{Filters: make(client.Filters).Add("label", engine.Label)})
	iferr.Fatal(t, err)
	for _, n := range networks.Items {
		lines = append(lines, create(n.Network))
	}
	for _, c := range made(t, h) {
		lines = append(lines, run(c))
	}
	return lines
}

// create returns the command that makes a network.
func create(n dockernet.Network) string {
	args := []string{"docker network create", "--driver", n.Driver}
	if n.Attachable {
		args = append(args, "--attachable")
	}
	if n.EnableIPv6 {
		args = append(args, "--ipv6")
	}
	for _, c := range n.IPAM.Config {
		args = append(args, "--subnet", c.Subnet.String())
	}
	for _, key := range slices.Sorted(maps.Keys(n.Options)) {
		if key == "com.docker.network.driver.overlay.vxlanid_list" {
			continue // assigned by the swarm
		}
		args = append(args, "--opt", strings.TrimSuffix(key+"="+n.Options[key], "="))
	}
	return strings.Join(append(args, n.Name), " ")
}

// run returns the command that makes a container, in the foreground as nettoll runs it.
func run(c container.InspectResponse) string {
	args := []string{"docker run --interactive --rm"}
	add := func(flag, value string) { args = append(args, flag, value) }
	add("--name", strings.TrimPrefix(c.Name, "/"))
	mode := string(c.HostConfig.NetworkMode)
	add("--network", mode)
	if s := c.NetworkSettings.Networks[mode]; s != nil && s.IPAMConfig != nil {
		if a := s.IPAMConfig.IPv4Address; a.IsValid() {
			add("--ip", a.String())
		}
		if a := s.IPAMConfig.IPv6Address; a.IsValid() {
			add("--ip6", a.String())
		}
	}
	for _, l := range c.HostConfig.Links {
		server, rest, _ := strings.Cut(l, ":")
		add("--link", strings.TrimPrefix(server, "/")+":"+filepath.Base(rest))
	}
	var published, exposed []string
	for p := range c.Config.ExposedPorts {
		if len(c.HostConfig.PortBindings[p]) == 0 {
			exposed = append(exposed, p.String())
		}
		for _, b := range c.HostConfig.PortBindings[p] {
			at := netip.AddrPortFrom(b.HostIP, p.Num()).String() // IPv6 addresses are in brackets
			published = append(published, at+":"+p.String())
		}
	}
	slices.Sort(published)
	slices.Sort(exposed)
	for _, p := range ranged(published) {
		add("--publish", p)
	}
	for _, p := range ranged(exposed) {
		add("--expose", p)
	}
	for _, key := range slices.Sorted(maps.Keys(c.HostConfig.Sysctls)) {
		add("--sysctl", key+"="+c.HostConfig.Sysctls[key])
	}
	for _, capability := range c.HostConfig.CapAdd {
		add("--cap-add", strings.TrimPrefix(capability, "CAP_"))
	}
	return strings.Join(append(args, "nettoll agent"), " ")
}

// dockerdCommand returns the command line of a private engine, without the paths of its files and
// the cgroup of its containers.
func dockerdCommand(t *testing.T, h *engine.Host) string {
	t.Helper()
	ns, err := os.Readlink(h.NetNS())
	iferr.Fatal(t, err)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	iferr.Fatal(t, err)
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited
		}
		args := strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00")
		in, _ := os.Readlink(filepath.Join(filepath.Dir(path), "ns", "net"))
		if filepath.Base(args[0]) == "dockerd" && in == ns {
			return "dockerd " + strings.Join(slices.DeleteFunc(flags(args[1:]), personal), " ")
		}
	}
	t.Fatalf("no dockerd runs on %s", h.Name())
	return ""
}

// flags joins each flag with its value.
func flags(args []string) (all []string) {
	for _, a := range args {
		if strings.HasPrefix(a, "-") || len(all) == 0 {
			all = append(all, a)
		} else {
			all[len(all)-1] += " " + a
		}
	}
	return all
}

func personal(flag string) bool {
	return strings.Contains(flag, "/run/") || strings.HasPrefix(flag, "--log-level") || strings.HasPrefix(flag, "--cgroup-parent")
}

// stable replaces names that an engine makes up anew for each network: names of devices, IDs of
// containers and networks, and the part of nettoll's names that tells runs apart.
func stable(t *testing.T, hosts ...*engine.Host) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, h := range hosts {
		pairs = append(pairs, madeUp(t, h)...)
	}
	return strings.NewReplacer(pairs...)
}

// madeUp returns names that a host's engine makes up, each followed by its replacement.
func madeUp(t *testing.T, h *engine.Host) []string {
	t.Helper()
	prefix := "nettoll-" + h.Engine.Run[:min(12, len(h.Engine.Run))] + "-"
	pairs := []string{prefix, "nettoll-"}
	onHost := map[int]string{}
	all, err := nl.Ask(h.NetNS(), (*nl.NS).Interfaces)
	iferr.Fatal(t, err)
	for _, d := range all {
		onHost[d.Index] = d.Name
	}
	for _, c := range made(t, h) {
		name := strings.TrimPrefix(c.Name, "/"+prefix)
		pairs = append(pairs, c.ID, "nettoll-"+name, c.ID[:12], "nettoll-"+name)
		if c.HostConfig.NetworkMode.IsHost() {
			continue
		}
		all, err := nl.Ask("/proc/"+strconv.Itoa(c.State.Pid)+"/ns/net", (*nl.NS).Interfaces)
		iferr.Fatal(t, err)
		for _, d := range all {
			if port := onHost[d.Peer]; d.Kind == "veth" && random.MatchString(port) {
				pairs = append(pairs, port, "veth-"+name)
			}
		}
	}
	for _, port := range onHost { // a port that belongs to no container is the swarm's ingress
		if random.MatchString(port) && !slices.Contains(pairs, port) {
			pairs = append(pairs, port, "veth-ingress")
		}
	}
	networks, err := h.Engine.Client.NetworkList(t.Context(), client.NetworkListOptions{})
	iferr.Fatal(t, err)
	for _, n := range networks.Items {
		name := strings.Replace(n.Name, prefix, "nettoll-", 1)
		pairs = append(pairs, n.ID, name, n.ID[:12], name)
	}
	return pairs
}

// random matches the names that an engine gives to its ends of veth pairs.
var random = regexp.MustCompile(`^veth[0-9a-f]{7}$`)

// port matches the ports that networks publish, see network.Topology.Ports.
var port = regexp.MustCompile(`\b20\d{3}\b`)

// ranged merges rules that differ only in the port into one, in the place of the first, with the
// range of the ports.
func ranged(lines []string) []string {
	var keys []string
	found := map[string][]int{}
	for _, l := range lines {
		key := port.ReplaceAllString(l, "\x00")
		if _, known := found[key]; !known {
			keys = append(keys, key)
		}
		found[key] = append(found[key], numbers(l)...)
	}
	for i, key := range keys {
		if ports := found[key]; len(ports) > 0 {
			span := strconv.Itoa(slices.Min(ports))
			if last := slices.Max(ports); strconv.Itoa(last) != span {
				span += "-" + strconv.Itoa(last)
			}
			keys[i] = strings.ReplaceAll(key, "\x00", span)
		}
	}
	return keys
}

func numbers(line string) (all []int) {
	for _, p := range port.FindAllString(line, -1) {
		n, err := strconv.Atoi(p)
		if err == nil {
			all = append(all, n)
		}
	}
	return all
}

// ownRules lists nettoll's own tables on a host, which are of the family inet.
func ownRules(t *testing.T, h platform.Host) string {
	t.Helper()
	ns := h.Facts().NetNS
	if ns == "" {
		return ""
	}
	rules, err := listed(t, ns, "ruleset", "inet")
	iferr.Fatal(t, err)
	return shortened(rules)
}

// These match the policies between the first and the tenth, and the rules between the first of a
// policy and its last.
var (
	furtherPolicies = regexp.MustCompile(`(?:\tchain cali-p[io]-[2-9] \{\n(?:\t\t.*\n)*\t\}\n)+`)
	furtherJumps    = regexp.MustCompile(`(?:\t\tcounter jump cali-p[io]-[2-9]\n)+`)
	furtherRules    = regexp.MustCompile(`(\t\ttcp dport .*\n)(?:\t\ttcp dport .*\n)+(\t\ttcp dport .*\n)`)
)

// shortened returns a table for the documentation, without these.
func shortened(table string) string {
	table = furtherPolicies.ReplaceAllString(table, "\t…\n")
	table = furtherJumps.ReplaceAllString(table, "\t\t…\n")
	return furtherRules.ReplaceAllString(table, "$1\t\t…\n$2")
}

// listed returns what the program nft lists in a namespace.
func listed(t *testing.T, ns string, of ...string) (string, error) {
	t.Helper()
	rules, err := nltest.Rules(t.Context(), ns, of...)
	if errors.Is(err, exec.ErrNotFound) {
		platformtest.Require(t, "nft", err)
	}
	return rules, err
}

// tables lists an engine's own tables of nftables, if it has some.
func (d *description) tables(t *testing.T, h *engine.Host) (text string) {
	t.Helper()
	for _, family := range []string{"ip", "ip6"} {
		of := []string{"table", family, "docker-bridges"}
		rules, err := listed(t, h.NetNS(), of...)
		if err != nil {
			return ""
		}
		var lines, alike []string
		for l := range strings.Lines(rules) {
			if port.MatchString(l) {
				alike = append(alike, l)
				continue
			}
			lines = append(append(lines, ranged(alike)...), l)
			alike = nil
		}
		text += fmt.Sprintf("\n`nft list %s`:\n\n```\n%s```\n", strings.Join(of, " "), d.names.Replace(strings.Join(lines, "")))
	}
	return text
}
