package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/network/wireguard"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/reference"
)

// elsewhere is a platform with a name only.
type elsewhere string

func (e elsewhere) Info() platform.Info { return platform.Info{Name: string(e)} }

func (elsewhere) Probe(context.Context) error { return platform.ErrUnsupported }

func (elsewhere) Hosts(context.Context, platform.HostRequest) (platform.Hosts, error) {
	return nil, platform.ErrUnsupported
}

func TestOnlyTheFirstPlatformNeedsNoPrefix(t *testing.T) {
	all := completed([]platformNetworks{{platform: elsewhere("lab")}, {platform: elsewhere("docker")}, {platform: elsewhere("swarm")}})
	for i, want := range []string{"bridge", "docker:bridge", "swarm:bridge"} {
		if got := all[i].name(kernel.Bridge()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestEveryPlannedNetworkCanBeBuilt checks that the planner and the runner use the same names for networks, and
// that native networks exist.
func TestEveryPlannedNetworkCanBeBuilt(t *testing.T) {
	all, k := recipes(engines{}), known(nil, cniFlags{}, false, false)
	built := 0
	for _, v := range catalogue(engines{}) {
		s := plan.Default()
		s.Networks = []string{v.prefix + "all"}
		cells, err := plan.Expand(s, k)
		iferr.Fatal(t, err)
		for _, c := range cells {
			r, ok := all[c.Network]
			if !ok {
				t.Errorf("nobody builds %s", c.Network)
				continue
			}
			if c.Network != c.Native() && r.Platform.Info().Name != v.plan.Name {
				t.Errorf("%s is built on %s", c.Network, r.Platform.Info().Name)
			}
		}
		for _, name := range v.names() {
			if _, ok := all[name]; ok {
				built++
			}
		}
		if _, ok := v.find(v.plan.Native); !ok && v.plan.Native != "" {
			t.Errorf("%s has no network %s for its native", v.plan.Name, v.plan.Native)
		}
	}
	if built != len(all) || len(networkNames()) != built {
		t.Errorf("%d networks are listed, %d can be built", built, len(all))
	}
	if slices.Contains(networkNames(), "all") || !slices.Contains(wholeNames(), "all") {
		t.Errorf("all is no single network: %v", wholeNames())
	}
}

// TestDaemonsCarryOnAllPlatforms checks that the payload of a network is carried by daemons if that of the lab's network is which
// it is built like.
func TestDaemonsCarryOnAllPlatforms(t *testing.T) {
	all := platforms()
	for _, v := range all[1:] {
		for _, d := range v.drivers {
			if model, ok := all[0].find(cmp.Or(d.Like, d.Name)); ok && model.Carried != d.Carried {
				t.Errorf("%s: carried by daemons: %v; in the lab: %v", v.name(d), d.Carried, model.Carried)
			}
		}
	}
}

// TestDocsHaveEveryNetwork checks that the lists of networks for users are complete.
func TestDocsHaveEveryNetwork(t *testing.T) {
	text := content(t, "../../docs/networks.md")
	for _, d := range append(kernel.All(), wireguard.New()) {
		hosts := "any"
		if len(d.Hosts) == 1 {
			hosts = []string{"1", "2 or more"}[d.Hosts[0]-1]
		}
		if row := "\n| `" + d.Name + "` | " + hosts + " | " + d.About + " |\n"; !strings.Contains(text, row) {
			t.Errorf("docs/networks.md lacks this row: %s", strings.TrimSpace(row))
		}
	}
}

// TestPagesAreOfNetworks checks that each page of a network is that of one that exists. The conformance suite writes pages, and
// does not know of those of networks that were renamed.
func TestPagesAreOfNetworks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/networks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	all := networkNames()
	for _, page := range pages {
		if filepath.Base(page) == "cni.md" { // it is about all networks of CNI plugins, and written by hand
			continue
		}
		title, _, _ := strings.Cut(content(t, page), "\n")
		name, _, _ := strings.Cut(strings.TrimPrefix(title, "# "), " --") // the rest are flags
		if !slices.Contains(all, name) {
			t.Errorf("%s is the page of %q, and there is no such network", page, name)
		}
	}
}

// TestDocsHaveEveryTool checks that the table of workloads for users has each tool that drives them.
func TestDocsHaveEveryTool(t *testing.T) {
	text := content(t, "../../docs/usage.md")
	for _, tool := range tools(nil) {
		for _, d := range tool.Drives {
			row := regexp.MustCompile("(?m)^\\|[^|]*`" + d.Workload + "`.*[|;,] " + tool.Name + "( with [a-z]+)?( \\||[,;])")
			if !row.MatchString(text) {
				t.Errorf("the table of workloads in docs/usage.md does not have %s for %s", tool.Name, d.Workload)
			}
		}
	}
}

// content returns the text of a file.
func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	iferr.Fatal(t, err)
	return string(text)
}

// TestPorts checks that the planner counts the ports of servers as networks publish them.
func TestPorts(t *testing.T) {
	for _, p := range []plan.Topology{
		{Servers: 1, Clients: 1, Processes: 1}, {Servers: 1, Clients: 4, Processes: 1}, {Servers: 20, Clients: 20, Processes: 1},
		{Servers: 1, Clients: 16, Processes: 16}, {Servers: 3, Clients: 4, Processes: 5}, {Servers: 7, Clients: 4000, Processes: 1},
	} {
		n := network.Topology{Servers: p.Servers, Clients: p.Clients, Processes: p.Processes}
		first, _ := n.Ports(0)
		_, last := n.Ports(p.Servers - 1)
		if got := last - first + 1; got != p.Ports() {
			t.Errorf("%s has %d ports, the planner says %d", p, got, p.Ports())
		}
	}
	most := plan.Topology{Servers: 1, Clients: 1, Processes: plan.MaxProcesses}
	for want, p := range map[bool]plan.Topology{true: most, false: {Servers: 1, Clients: 1, Processes: plan.MaxProcesses + 1}} {
		_, last := network.Topology{Servers: 1, Clients: 1, Processes: p.Processes}.Ports(0)
		if got := last <= 32767; got != want {
			t.Errorf("%s ends below the ephemeral ports: %t, want %t", p, got, want)
		}
	}
}

// TestEverySuiteCanGoOn checks that --resume accepts the cells that run makes of each suite, on each platform.
func TestEverySuiteCanGoOn(t *testing.T) {
	k := known(nil, cniFlags{}, false, false)
	for _, name := range plan.Names() {
		for _, platform := range append([]string{""}, platformNames()...) {
			s, err := plan.Embedded(name)
			iferr.Fatal(t, err)
			if s.TimeBudget = 0; platform != "" {
				s.SetPlatform(platform)
			}
			cells, err := plan.Expand(s, k)
			if err != nil { // other tests check what a suite measures
				continue
			}
			if err := plan.Resumable(cells, plan.Settings(s), k); err != nil {
				t.Errorf("%s on %s: %v", name, platform, err)
			}
		}
	}
}

// TestEmbeddedSuites checks that the networks and tools of suites are compiled in, and that each figure of a source
// is measured or skipped with a reason.
func TestEmbeddedSuites(t *testing.T) {
	for _, name := range plan.Names() {
		s, err := plan.Embedded(name)
		iferr.Fatal(t, err)
		cells, err := plan.Expand(s, known(nil, cniFlags{}, false, false))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s.Source == "" {
			continue
		}
		source, ok := reference.ByName(s.Source)
		if !ok {
			t.Errorf("%s: nothing is known of the source %s", name, s.Source)
		}
		for _, table := range source.Tables {
			for _, p := range table.Cells {
				if p.Given() && !measured(cells, table, p) && !skipped(s, p) {
					t.Errorf("%s: %s of %q at %q is neither measured nor skipped", name, p.Network, table.Name, p.Label)
				}
			}
		}
	}
}

func measured(cells []record.Cell, t reference.Table, p reference.Published) bool {
	or := func(want, have int) bool { return want == 0 || want == have }
	return slices.ContainsFunc(cells, func(c record.Cell) bool {
		return slices.Contains(strings.Split(p.As, "|"), c.Network) && c.Workload == t.Workload && or(t.Streams, max(c.Options.Streams, 1)) && or(p.Hosts, c.Hosts) && or(p.Family, c.Family) &&
			or(p.Servers, c.Servers) && or(p.Clients, c.Clients) && or(p.Processes, max(c.Processes, 1)) &&
			(p.Underlay == "" || c.Underlay == p.Like || strings.HasPrefix(c.Underlay, p.Underlay+":"))
	})
}

func skipped(s plan.Suite, p reference.Published) bool {
	return slices.ContainsFunc(s.Skips, func(k plan.Skip) bool {
		return k.Reason != "" && (k.Network == p.Network || strings.HasPrefix(k.Network, p.Network+" ") && strings.HasSuffix(p.Label, strings.TrimPrefix(k.Network, p.Network)))
	})
}
