package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"nettoll/plan"
)

// twoPlatforms is a lab with two networks, of which Docker has one.
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

// TestPlatformFlag leaves out what a suite names and the platform has not, and
// refuses it where an argument names it.
func TestPlatformFlag(t *testing.T) {
	f := runFlags{suite: "quick", asked: plan.Suite{Platform: "docker"}, given: func(flag string) bool { return flag == "platform" }}
	suite := func(named bool) plan.Suite {
		s := plan.Default()
		s.Networks = []string{"bridge", "vxlan"}
		if err := f.overridePlatform(&s, named); err != nil {
			t.Fatal(err)
		}
		return s
	}
	cells, err := plan.Expand(suite(false), twoPlatforms())
	if err != nil {
		t.Fatal(err)
	}
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
	want := `docker has no network "vxlan"; did you mean "lab:vxlan"? nettoll list networks shows all`
	if got := f.fault(err, []string{"bridge", "vxlan"}).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFaultOfABaselineThatNobodyNamed speaks of the arguments, and not of a suite
// that they replace.
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

// TestReplacedKeys holds that what flags replace are keys of suites, and that each has its flag.
func TestReplacedKeys(t *testing.T) {
	var f runFlags
	fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.add(fl)
	for _, key := range replaced {
		if fl.Lookup(strings.ReplaceAll(key, "_", "-")) == nil {
			t.Errorf("%s has no flag", key)
		}
		s := plan.Suite{Name: "kept"}
		if s.Take(key, plan.Default()); s.Name != "kept" {
			t.Errorf("%s is not a key of suites", key)
		}
	}
}
