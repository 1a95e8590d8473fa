package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nettoll/record"
)

// TestYAML reads every embedded suite again as it is shown, and one that has everything.
func TestYAML(t *testing.T) {
	all := Default()
	all.Name, all.About, all.Networks = "all: of it", "says \"much\"", []string{"bridge", "docker:bridge"}
	all.Workloads = []Workload{
		{Name: record.TCPStream, Options: record.Options{Streams: 4, MessageSize: 128 << 10, Congestion: "cubic", ZeroCopy: true}, Tools: []string{"engine", "iperf3"}},
		{Name: record.PacedRR, Options: record.Options{Rate: 1000}},
	}
	all.Underlay = []Underlay{{}, {Rate: 1e9, Delay: time.Millisecond}}
	all.Topologies = []Topology{{1, 4, 16}, {2, 2, 1}}
	all.Turns, all.Precision, all.TimeBudget = false, 0.025, 90*time.Second
	all.Offload, all.MTU, all.Normalize = []string{"on", "off"}, []int{1500, 9000}, true
	suites := []Suite{all}
	for _, name := range Names() {
		s := embedded(t, name)
		suites = append(suites, s)
	}
	for _, s := range suites {
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load("x.yaml", strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v in\n%s", s.Name, err, text)
			continue
		}
		if diff := cmp.Diff(s, again, cmpopts.IgnoreUnexported(Suite{})); diff != "" {
			t.Errorf("%s: %s in\n%s", s.Name, diff, text)
		}
	}
}
