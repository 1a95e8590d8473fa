package networktest

import (
	"bytes"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"nettoll/docker/engine"
)

// byHand is the commands that make the same networks and containers on an engine, as
// the engine tells what they are like.
func byHand(t *testing.T, h *engine.Host) (lines []string) {
	t.Helper()
	networks, err := h.Engine.Client.NetworkList(t.Context(), client.NetworkListOptions{Filters: make(client.Filters).Add("label", engine.Label)})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		lines = append(lines, create(n.Network))
	}
	for _, c := range made(t, h) {
		lines = append(lines, run(c))
	}
	return lines
}

// create is the command that makes a network.
func create(n network.Network) string {
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
			continue // which the swarm gives out
		}
		args = append(args, "--opt", strings.TrimSuffix(key+"="+n.Options[key], "="))
	}
	return strings.Join(append(args, n.Name), " ")
}

// run is the command that makes a container, in the foreground as nettoll has it.
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

// dockerdCommand is the command line of a private engine, less the places of its files and what
// its containers are counted by.
func dockerdCommand(t *testing.T, h *engine.Host) string {
	t.Helper()
	ns, err := os.Readlink(h.NetNS())
	if err != nil {
		t.Fatal(err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
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

// flags joins flags with their values.
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
