package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/record"
)

func TestSkipped(t *testing.T) {
	s := with("veth", "bridge")
	s.Skips = []Skip{{Network: "ovs", Reason: "not yet"}, {Network: "bridge", Reason: "measured all the same"}}
	s.Underlay = []Underlay{{}, {Instance: "d1"}}
	want := []Skip{
		{Network: "ovs", Reason: "not yet"},
		{Underlay: "D1", Reason: `the network of D1 is advertised as "unknown", which is not a rate; write the one it has, such as D1:rate=1gbit`},
	}
	if diff := cmp.Diff(want, Skipped(s, drivers())); diff != "" {
		t.Error(diff)
	}
}

func TestFiles(t *testing.T) {
	known := drivers()
	known.Files = 1000
	for _, c := range []struct {
		name  string
		suite func(*Suite)
		want  string
	}{
		{"few", func(s *Suite) { s.Clients = []int{100} }, ""},
		{"processes", func(s *Suite) { s.Processes = []int{1, 250} },
			`processes: 1x1x250 needs 1106 open files in one process, 1000 are allowed here; write fewer, or raise the limit (ulimit -n)`},
		{"streams", func(s *Suite) {
			s.Clients, s.Workloads = []int{8}, []Workload{{Name: "tcp_rr"}, {Name: "tcp_rr", Options: record.Options{Streams: 128}}}
		},
			`clients: 1x8 with 128 streams each needs 1124 open files in one process, 1000 are allowed here; write fewer, or raise the limit (ulimit -n)`},
		{"streams of several servers", func(s *Suite) {
			s.Servers, s.Clients, s.Workloads = []int{8}, []int{8}, []Workload{{Name: "tcp_rr", Options: record.Options{Streams: 128}}}
		}, ""},
	} {
		s := with("veth")
		c.suite(&s)
		if _, err := Expand(s, known); message(err) != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestSetWorkloads(t *testing.T) {
	s := with("veth")
	s.file, s.at = "x.yaml", map[string]string{"workloads": "x.yaml:3:1", "workloads[0]": "x.yaml:3:2", "workloads[0].gso": "x.yaml:3:9"}
	before := s
	s.SetWorkloads([]Workload{{Name: "tcp_rr", Options: record.Options{GSO: true}}})
	if want := "x.yaml:3:1: workloads[0].gso: has no effect on tcp_rr; leave it out"; message(s.Validate()) != want {
		t.Errorf("got  %v\nwant %s", s.Validate(), want)
	}
	if err := before.Validate(); err != nil || len(before.at) != 3 {
		t.Errorf("the suite it was made from has changed: %v, %v", before.at, err)
	}
}
