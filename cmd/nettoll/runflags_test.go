package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"nettoll/internal/testutil/iferr"
	"nettoll/kube"
	"nettoll/plan"
	"nettoll/platform"
	"nettoll/record"
)

// twoPlatforms has a lab with two networks, and a Docker platform with one of them.
func twoPlatforms() plan.Known {
	return plan.Known{
		Platforms: []plan.Platform{{Name: "lab"}, {Name: "docker", Native: "native"}},
		Networks: []plan.Network{
			{Name: "bridge", Hosts: []int{1}}, {Name: "vxlan", Hosts: []int{1}, Platforms: []string{"lab"}},
			{Name: "native", Hosts: []int{1, 2}, Platforms: []string{"docker"}},
		},
		Tools: []plan.Tool{{Name: "engine", Drives: []plan.Drive{{Workload: "tcp_stream"}, {Workload: "tcp_rr"}}}},
	}
}

// TestPlatformFlag checks that networks that the platform lacks are left out if a suite names them, and refused if
// an argument does.
func TestPlatformFlag(t *testing.T) {
	f := runFlags{suite: "quick", asked: plan.Suite{Platform: "docker"}, given: func(flag string) bool { return flag == "platform" }}
	suite := func(named bool) plan.Suite {
		s := plan.Default()
		s.Networks = []string{"bridge", "vxlan"}
		iferr.Fatal(t, f.override(&s, named))
		return s
	}
	cells, err := plan.Expand(suite(false), twoPlatforms())
	iferr.Fatal(t, err)
	for _, c := range cells {
		if c.Network != "docker:native" && c.Network != "docker:bridge" || c.Baseline != "docker:native" {
			t.Errorf("%s is a cell of it", c.Key())
		}
	}
	skips := skipsOf(suite(false), twoPlatforms())
	if len(skips) != 1 || skips[0].Network != "vxlan" || skips[0].Reason != "docker has no network vxlan" {
		t.Errorf("skips are %+v", skips)
	}
	_, err = plan.Expand(suite(true), twoPlatforms())
	if err == nil {
		t.Fatal("an argument was left out")
	}
	want := `docker has no network "vxlan", lab has: did you mean "lab:vxlan"? nettoll list networks shows all`
	if got := f.fault(err, []string{"bridge", "vxlan"}).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFaultOfABaselineThatNobodyNamed checks that the error is about the arguments, not about the suite that they
// replace.
func TestFaultOfABaselineThatNobodyNamed(t *testing.T) {
	none := &plan.FieldError{At: "quick.yaml:1:1", Field: "baseline", Text: "swarm has no native on 2 hosts"}
	f := runFlags{suite: "quick", given: func(string) bool { return false }}
	if got := f.fault(none, []string{"swarm:overlay"}).Error(); got != none.Text {
		t.Errorf("with arguments: %s", got)
	}
	if got := f.fault(none, nil).Error(); !strings.HasPrefix(got, "suite quick: baseline: ") {
		t.Errorf("of the suite: %s", got)
	}
	f.given = func(flag string) bool { return flag == "baseline" }
	if got := f.fault(none, []string{"swarm:overlay"}).Error(); got != "--baseline: "+none.Text {
		t.Errorf("with the flag: %s", got)
	}
}

// TestRestOfARun checks that only the rounds that a run still needs may make it too long.
func TestRestOfARun(t *testing.T) {
	cell := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR}
	trials := []record.Trial{{Cell: cell, Round: 1}, {Cell: cell, Round: 80}}
	for name, c := range map[string]struct {
		file record.File
		done int
		long bool
	}{
		"a new run":        {record.File{}, 0, true},
		"a round cut off":  {record.File{Trials: trials}, 79, true},
		"a whole round":    {record.File{Trials: trials, Ends: []record.End{{Rounds: 80}}}, 80, false},
		"all that is left": {record.File{Trials: trials, Ends: []record.End{{Rounds: 100}}}, 100, false},
	} {
		f := runFlags{known: twoPlatforms, done: doneRounds(&c.file)}
		if f.done != c.done {
			t.Errorf("%s: %d rounds are done, want %d", name, f.done, c.done)
		}
		set := record.Settings{Duration: 175, MinRounds: 100, MaxRounds: 100, Confidence: 0.95} // 20 rounds take 58 minutes, 21 more than an hour
		if e, long := f.rest([]record.Cell{cell}, set); long != c.long {
			t.Errorf("%s: %d rounds take %v; that is too long: %v, want %v", name, e.MaxRounds, e.Max, long, c.long)
		}
		set.Budget = 600
		if _, long := f.rest([]record.Cell{cell}, set); long {
			t.Errorf("%s: too long, within a time budget", name)
		}
	}
}

// TestLate checks which runs may exceed their time budget for the rounds that a verdict takes: those for which nobody has chosen it.
func TestLate(t *testing.T) {
	const by = 37500 * time.Millisecond
	for name, c := range map[string]struct {
		given  string
		flags  runFlags
		most   int
		e      plan.Forecast
		rounds int
		by     time.Duration
	}{
		"by default":          {"", runFlags{}, 40, plan.Forecast{Comparisons: 10, Verdict: 9}, 9, by},
		"the user's budget":   {"time-budget", runFlags{}, 40, plan.Forecast{Comparisons: 10, Verdict: 9}, 0, 0},
		"a suite's budget":    {"suite", runFlags{budgeted: true}, 40, plan.Forecast{Comparisons: 10, Verdict: 9}, 0, 0},
		"a suite without one": {"suite", runFlags{}, 40, plan.Forecast{Comparisons: 10, Verdict: 9}, 9, by},
		"resumed":             {"resume", runFlags{resume: "x.ndjson"}, 40, plan.Forecast{Comparisons: 10, Verdict: 9}, 0, 0},
		"no comparison":       {"", runFlags{}, 40, plan.Forecast{}, 0, 0},
		"no verdict anyway":   {"", runFlags{}, 8, plan.Forecast{Comparisons: 10, Verdict: 9}, 0, 0},
	} {
		c.flags.given = func(flag string) bool { return flag == c.given }
		if rounds, by := c.flags.late(c.e, record.Settings{MaxRounds: c.most, Budget: 75}); rounds != c.rounds || by != c.by {
			t.Errorf("%s: %d rounds, %v more; want %d, %v", name, rounds, by, c.rounds, c.by)
		}
	}
}

func TestNotSkipped(t *testing.T) {
	host, bridge, ovs := record.Cell{Network: "host"}, record.Cell{Network: "bridge"}, record.Cell{Network: "ovs"}
	f := &record.File{Run: record.Run{Cells: []record.Cell{host, bridge, ovs}}, Trials: []record.Trial{
		{Cell: ovs, Round: 1, Status: record.Skipped, Reason: "no\x1b[2J module"}, {Cell: bridge, Round: 1, Status: record.Failed}, {Cell: host, Round: 1, Status: record.OK},
	}}
	if got := notSkipped(f); !slices.Equal(got, []record.Cell{host, bridge}) {
		t.Errorf("got %+v", got)
	}
	if got := skippedBefore(f); len(got) != 1 || got[0].Network != "ovs" || strings.Contains(got[0].Reason, "\x1b") {
		t.Errorf("skipped before: %+v", got)
	}
}

// TestVenue checks what the run file holds of the flags that choose engines and clusters.
func TestVenue(t *testing.T) {
	f := runFlags{engineFlags: engineFlags{private: true}, clusterFlags: clusterFlags{users: kube.OwnOptions{NodeAgents: true, Expect: "vxlan", PodCPUs: 2}}}
	for network, want := range map[string]*record.Venue{
		"bridge": nil, "ssh:native": nil,
		"docker:bridge": {PrivateEngine: true, NodeAgent: true, Expect: "vxlan", PodCPUs: 2}, "swarm:overlay": {PrivateEngine: true, NodeAgent: true, Expect: "vxlan", PodCPUs: 2},
		"kubernetes:pod": {PrivateEngine: true, NodeAgent: true, Expect: "vxlan", PodCPUs: 2},
	} {
		got := f.venue([]record.Cell{{Network: "host"}, {Network: network}})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", network, got, want)
		}
	}
}

// TestEnginesOfTheVenue checks that addresses are written down in their order, and without passwords; that of the docker command
// where none is named and one is used.
func TestEnginesOfTheVenue(t *testing.T) {
	t.Setenv("DOCKER_HOST", "ssh://me@c")
	for _, c := range []struct {
		engineFlags
		network string
		want    []string
	}{
		{engineFlags{at: []string{"tcp://me:secret@b:2375", "ssh://me@a"}}, "docker:bridge", []string{"tcp://me:xxxxx@b:2375", "ssh://me@a"}},
		{engineFlags{}, "docker:bridge", []string{"ssh://me@c"}},
		{engineFlags{private: true}, "docker:bridge", nil},
		{engineFlags{}, "kubernetes:pod", nil},
	} {
		f := runFlags{engineFlags: c.engineFlags}
		if got := f.venue([]record.Cell{{Network: c.network}}).Engines; !slices.Equal(got, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.network, c.engineFlags, got, c.want)
		}
	}
}

// TestSameEngines checks that a run goes on only on the engines that it began on, in the same order: its figures are of one direction.
func TestSameEngines(t *testing.T) {
	on := func(engines ...string) *record.Venue { return &record.Venue{Engines: engines} }
	for _, c := range []struct {
		was, is *record.Venue
		good    bool
	}{
		{on("a", "b"), on("a", "b"), true}, {on("a", "b"), on("b", "a"), false}, {on("a"), on(), true}, {on("a"), on("b"), false},
		{on(), on("a"), true}, // where it began is not known
	} {
		if err := sameVenue(c.was, c.is); (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), "--docker-host a") {
			t.Errorf("%v, then %v: %v", c.was.Engines, c.is.Engines, err)
		}
	}
}

// TestSameTools checks what is refused of the tools of a run that is resumed, and what would fix it.
func TestSameTools(t *testing.T) {
	cells := []record.Cell{{Tool: "engine"}, {Tool: "iperf3"}, {Tool: "netperf"}, {Tool: "wrk"}, {Tool: "qperf"}}
	is := map[string]string{"engine": "3", "iperf3": "3.12"}
	unknown := map[string]error{
		"netperf": &platform.Unsupported{Feature: "netperf", Program: "netperf"}, "qperf": errors.New("/usr/bin/qperf: it did not end within 20s"),
		"wrk": &platform.Unsupported{Feature: "wrk", Option: "wrk 4.0 or later", Err: errors.New("/usr/bin/wrk is version 3.1")},
	}
	for name, c := range map[string]struct {
		was  map[string]string
		want string
	}{
		"the same":                      {map[string]string{"engine": "3", "iperf3": "3.12"}, ""},
		"one that was not there":        {map[string]string{"engine": "3"}, ""},
		"one that no cell has":          {map[string]string{"engine": "3", "nuttcp": "8.1"}, ""},
		"one that is not there":         {map[string]string{"netperf": "2.7.0"}, "--resume: the run began with netperf 2.7.0, which is not here; install it, or give its path with --tool-path"},
		"one that does not answer":      {map[string]string{"qperf": "0.4.11"}, "--resume: the run began with qperf 0.4.11, and the version of the one here is not known: /usr/bin/qperf: it did not end within 20s"},
		"one that is too old":           {map[string]string{"wrk": "4.1"}, "--resume: the run began with wrk 4.1, and the version of the one here is not known: wrk: not supported here (needs wrk 4.0 or later): /usr/bin/wrk is version 3.1"},
		"another version":               {map[string]string{"iperf3": "3.9"}, "--resume: the run began with iperf3 3.9, this is 3.12; give the path of that version with --tool-path, or begin another run"},
		"another version of the engine": {map[string]string{"engine": "2"}, "--resume: the run began with engine 2, this is 3; begin another run"},
	} {
		got := ""
		if err := sameTools(cells, c.was, is, unknown); err != nil {
			got = err.Error()
			if usage := errors.As(err, new(usageError)); usage == strings.Contains(got, "not known") {
				t.Errorf("%s: a mistake in the command line: %v", name, usage)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestReachable checks that files are refused that cannot be seen inside a lab.
func TestReachable(t *testing.T) {
	for path, want := range map[string]bool{"x": true, "/etc/x": true, "/run/x": false, "/etc/../run/x": false, "/run/../etc/x": true} {
		if err := reachable("--suite", path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Setenv("PATH", "/run/wrappers/bin:/usr/bin")
	for path, want := range map[string]bool{"/run/wrappers/bin/ping": true, "/run/x/../wrappers/bin/ping": true, "/run/ping": false} {
		if err := reachable("--tool-path", path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	f := runFlags{}
	for network, want := range map[string]bool{"bridge": false, "docker:bridge": true, "ssh:native": true} {
		if err := f.reachable("--suite", "/run/x", []record.Cell{{Network: network}}); (err == nil) != want {
			t.Errorf("%s: %v", network, err)
		}
	}
}

// TestDocumentedRuns checks that runs are accepted as documents and help have them: none takes so long that it has to be confirmed.
func TestDocumentedRuns(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	iferr.Fatal(t, err)
	text := (&app{}).runCommand().Example
	for _, file := range append(files, "../../README.md") {
		text += "\n" + content(t, file)
	}
	elsewhere := regexp.MustCompile(`--resume|--cni-conf|my-suite`) // what is in files that do not exist here
	lines := regexp.MustCompile(`(?m)^ *nettoll run( \S+)*`).FindAllString(text, -1)
	if len(lines) < 40 {
		t.Errorf("there are only %d", len(lines))
	}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #")
		if elsewhere.MatchString(line) {
			continue
		}
		fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
		var f runFlags
		f.add(fl)
		f.given, f.known = fl.Changed, func() plan.Known { return known(nil, cniFlags{}, f.private, f.cluster) }
		iferr.Fatal(t, fl.Parse(strings.Fields(line)[2:]))
		suite, err := f.suiteOf(fl.Args())
		var cells []record.Cell
		if err == nil {
			cells, err = f.expand(suite)
		}
		if err == nil {
			cells, err = f.fit(&suite, cells)
		}
		if err == nil {
			set := plan.Settings(suite)
			set.Congestion = "cubic"
			err = f.checkTime(cells, set)
		}
		if err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
}

// TestLeftOutWithTheirBaseline checks that what is compared with a network that is left out is not measured without it.
func TestLeftOutWithTheirBaseline(t *testing.T) {
	for line, want := range map[string]string{
		"bridge ssh:vxlan --hosts-ssh a,b": "bridge on 1 host: ssh:native, with which it is compared, is left out there; name another baseline (--baseline)",
		"bridge --hosts-ssh a,b":           "",
		"docker:host docker:bridge --baseline docker:published --docker-host ssh://a --docker-host ssh://b": "docker:host on 2 hosts: docker:published, with which it is compared, is left out there; name another baseline (--baseline)",
	} {
		fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
		var f runFlags
		f.add(fl)
		f.given, f.known = fl.Changed, func() plan.Known { return known(nil, cniFlags{}, false, false) }
		iferr.Fatal(t, fl.Parse(strings.Fields(line)))
		suite, err := f.suiteOf(fl.Args())
		iferr.Fatal(t, err)
		cells, err := f.expand(suite)
		iferr.Fatal(t, err)
		cells, err = f.fit(&suite, cells)
		iferr.Fatal(t, err)
		if i := slices.IndexFunc(cells, func(c record.Cell) bool { return !slices.Contains(cells, c.Against()) }); i >= 0 {
			t.Errorf("%s: %s is measured without %s", line, cells[i].Key(), cells[i].Against().Key())
		}
		if got := strings.Join(record.Each(suite.Skips, func(k plan.Skip) string { return k.Network + ": " + k.Reason }), "; "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestDocsOfSuites checks that the page on suites is right about which flags have keys, has every suite that repeats published
// measurements, and an example that can be measured.
func TestDocsOfSuites(t *testing.T) {
	text := content(t, "../../docs/suites.md")
	keys := plan.Keys()
	for _, d := range record.Dimensions(record.Option, record.Condition) {
		keys = append(keys, strings.ReplaceAll(d.Name, "-", "_"))
	}
	named := func(what string) bool { return strings.Contains(text, "`"+what+"`") }
	for _, g := range flagGroups((&app{}).runCommand()) {
		settings := slices.Contains([]string{"What is measured", "Traffic", "Topology and surroundings", "Duration and precision"}, g.title)
		g.flags.VisitAll(func(f *pflag.Flag) {
			key := strings.ReplaceAll(f.Name, "-", "_")
			switch has := slices.Contains(keys, key) && f.Name != "as-published"; {
			case settings && !has && !named("--"+f.Name) && (f.Shorthand == "" || !named("-"+f.Shorthand)):
				t.Errorf("docs/suites.md does not say that --%s has no key of its name", f.Name)
			case settings && has && named("--"+f.Name), !settings && has != named(key):
				t.Errorf("docs/suites.md is wrong about --%s; there is a key of its name: %v", f.Name, has)
			}
		})
	}
	for _, name := range plan.Names() {
		s, err := plan.Embedded(name)
		iferr.Fatal(t, err)
		if repeats := s.Source != ""; repeats != strings.Contains(text, "\n| `"+name+"` |") {
			t.Errorf("docs/suites.md: %s repeats published measurements: %v", name, repeats)
		}
	}
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	s, err := plan.Load("example.yaml", strings.NewReader(example))
	iferr.Fatal(t, err)
	_, err = plan.Expand(s, known(nil, cniFlags{}, false, false))
	iferr.Error(t, err)
}
