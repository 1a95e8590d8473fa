package networktest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/internal/nl"
)

// stable replaces what an engine makes up anew for each network: names of devices, ids
// of containers and networks, and what is in names of ours to tell runs apart.
func stable(t *testing.T, hosts ...*engine.Host) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, h := range hosts {
		pairs = append(pairs, madeUp(t, h)...)
	}
	return strings.NewReplacer(pairs...)
}

// madeUp is pairs of what a host's engine makes up, and what is to stand for it.
func madeUp(t *testing.T, h *engine.Host) []string {
	t.Helper()
	prefix := "nettoll-" + h.Engine.Run[:min(12, len(h.Engine.Run))] + "-"
	pairs := []string{prefix, "nettoll-"}
	onHost := map[int]string{}
	err := nl.With(h.NetNS(), func(n *nl.NS) error {
		all, err := n.Interfaces()
		for _, d := range all {
			onHost[d.Index] = d.Name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range made(t, h) {
		name := strings.TrimPrefix(c.Name, "/"+prefix)
		pairs = append(pairs, c.ID, "nettoll-"+name, c.ID[:12], "nettoll-"+name)
		if c.HostConfig.NetworkMode.IsHost() {
			continue
		}
		err := nl.With("/proc/"+strconv.Itoa(c.State.Pid)+"/ns/net", func(n *nl.NS) error {
			all, err := n.Interfaces()
			for _, d := range all {
				if port := onHost[d.Peer]; d.Kind == "veth" && random.MatchString(port) {
					pairs = append(pairs, port, "veth-"+name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, port := range onHost { // what no container has is the swarm's ingress
		if random.MatchString(port) && !slices.Contains(pairs, port) {
			pairs = append(pairs, port, "veth-ingress")
		}
	}
	networks, err := h.Engine.Client.NetworkList(t.Context(), client.NetworkListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		name := strings.Replace(n.Name, prefix, "nettoll-", 1)
		pairs = append(pairs, n.ID, name, n.ID[:12], name)
	}
	return pairs
}

// random are names that an engine gives to its ends of veth pairs.
var random = regexp.MustCompile(`^veth[0-9a-f]{7}$`)

// port is one of those that networks publish, see network.Topology.Ports.
var port = regexp.MustCompile(`\b20\d{3}\b`)

// ranged puts rules that differ in nothing but the port together, in the place of the
// first, with the range of the ports.
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
