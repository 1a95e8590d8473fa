package reference

import (
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// Every name in a source refers to something that exists.
func TestNames(t *testing.T) {
	networks := []string{"", "bridge", "bridge-nonf", "calico-bgp", "flannel-udp", "flannel-vxlan", "host", "iptables", "link", "loopback", "native",
		"ovs", "ovs-userspace-tso", "pipework-veth", "published", "routed", "routed-bgp", "sharedns", "udp-overlay-packet", "udp-overlay-tun",
		"veth", "vxlan", "weave-sleeve"}
	units := []string{"Gbit/s", "Mbit/s", "GB/s", "MB/s", "us", "percent", "percent of the machine", "percent of native"}
	for _, s := range Sources() {
		for _, table := range s.Tables {
			if _, known := record.KindOf(table.Metric); !known && table.Metric != CPUClient && table.Metric != CPUServer {
				t.Errorf("%s: %q measures %q", s.Name, table.Name, table.Metric)
			}
			if _, known := s.Network(table.Baseline); !known {
				t.Errorf("%s: baseline %q of %q is no network", s.Name, table.Baseline, table.Name)
			}
			if !table.Relative && !slices.Contains(table.Networks(), table.Baseline) {
				t.Errorf("%s: baseline %q is not in %q", s.Name, table.Baseline, table.Name)
			}
			if table.Streams < 1 || table.Workload == "" || table.Axis == "" || table.Tool == "" {
				t.Errorf("%s: %q lacks streams, workload, axis or tool", s.Name, table.Name)
			}
			for _, p := range table.Cells {
				for as := range strings.SplitSeq(p.As, "|") {
					if !slices.Contains(networks, as) {
						t.Errorf("%s: %s is taken for %q, which is not a network", s.Name, p.Network, as)
					}
				}
				if p.Hosts == 0 || p.Family == 0 || p.Servers == 0 || p.Clients == 0 || p.Processes == 0 || p.Label == "" {
					t.Errorf("%s: %s stands nowhere: %+v", s.Name, p.Network, p)
				}
				if (p.As == "native" || p.As == "host") && p.As != record.Native(p.Hosts) {
					t.Errorf("%s: %s is taken for %s on %d hosts", s.Name, p.Network, p.As, p.Hosts)
				}
			}
			if !slices.Contains(units, table.Unit) {
				t.Errorf("%s: %q is in %q, which is no unit", s.Name, table.Name, table.Unit)
			}
			if table.Relative && !strings.HasPrefix(table.Unit, "percent") {
				t.Errorf("%s: %q is relative and in %s", s.Name, table.Name, table.Unit)
			}
		}
	}
}

// Every conclusion can be checked, or gives the reason why not; and every name in a check exists.
func TestConclusions(t *testing.T) {
	for _, s := range Sources() {
		for _, c := range s.Conclusions {
			if c.Text == "" || (len(c.Checks) == 0) == (c.Why == "") {
				t.Errorf("%s: %q must have either checks or a reason why not", s.Name, c.Text)
			}
			for _, k := range c.Checks {
				checkNames(t, s, k)
			}
		}
	}
}

func checkNames(t *testing.T, s Source, k Check) {
	t.Helper()
	for _, n := range append([]string{k.Network, k.Against}, k.Among...) {
		if _, known := s.Network(n); n != "" && !known {
			t.Errorf("%s: a check names %q", s.Name, n)
		}
	}
	var tables []Table
	for _, name := range k.Tables {
		table, ok := s.Table(name)
		if !ok {
			t.Errorf("%s: a check names the table %q", s.Name, name)
		}
		tables = append(tables, table)
	}
	if len(k.Tables) == 0 {
		tables = s.Tables
	}
	where := slices.Clone(k.Where)
	for _, p := range k.Pairs {
		where = append(where, p.Ahead, p.Behind)
	}
	for _, w := range where {
		for _, table := range tables {
			if !slices.ContainsFunc(table.Columns, func(c Place) bool { return c.In(w) }) {
				t.Errorf("%s: a check looks for %+v in %q, which has no such place", s.Name, w, table.Name)
			}
		}
	}
	needs := map[CheckKind]bool{
		Faster:    len(k.Pairs) > 0 || k.Network != "" && k.Against != "",
		Fastest:   k.Network != "",
		Relative:  k.Network != "" && k.Against != "" && k.Ratio > 0 && k.Tolerance > 0,
		Crossover: k.Network != "" && k.Against != "" && len(k.Tables) == 1,
		Order:     k.AtLeast > 0,
	}
	if !needs[k.Kind] || k.AtLeast < 0 || k.AtLeast > 1 {
		t.Errorf("%s: check %+v is not whole", s.Name, k)
	}
}

func TestInstances(t *testing.T) {
	if n := len(Instances()); n != 10 {
		t.Errorf("%d instances, want 10", n)
	}
	for _, want := range []InstanceType{
		{"azure", "A0", 0.018, "5 Mbit/s", 5e6},
		{"azure", "A8", 1.97, "40 Gbit/s InfiniBand", 40e9},
		{"azure", "D2", 0.168, "unknown", 0},
		{"aws", "t2.micro", 0.014, "low to moderate", 0},
		{"aws", "m4.large", 0.139, "moderate", 0},
		{"aws", "m4.xlarge", 0.278, "high", 0},
		{"aws", "m4.10xlarge", 2.78, "10 Gbit/s", 10e9},
	} {
		if got, ok := Instance(want.Name); !ok || got != want {
			t.Errorf("%s is %+v, want %+v", want.Name, got, want)
		}
	}
	if _, ok := Instance("m4"); ok {
		t.Error("m4 is no instance")
	}
}

// Changing a returned source does not change what other callers get.
func TestCopies(t *testing.T) {
	a, _ := ByName(ICC2014)
	a.Tables[0].Cells[0].Value = -1
	if b, _ := ByName(ICC2014); b.Tables[0].Cells[0].Value != 10 {
		t.Error("sources share memory")
	}
}

func TestEmbedded(t *testing.T) {
	files, err := data.ReadDir("data")
	if err != nil || len(files) != len(Names()) {
		t.Errorf("%d files, %d names: %v", len(files), len(Names()), err)
	}
	for _, name := range Names() {
		s, err := load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name || s.Title == "" || len(s.Tables) == 0 || len(s.Conclusions) == 0 || len(s.Tools) == 0 {
			t.Errorf("%s lacks something: %+v", name, s)
		}
	}
	if len(Sources()) != len(Names()) {
		t.Errorf("%d sources, want %d", len(Sources()), len(Names()))
	}
	if _, ok := ByName("../data/icc-2014"); ok {
		t.Error("a path is no name")
	}
}

const small = `
title: t
networks: [{name: a}, {name: b, as: bridge}]
tables:
  - name: x
    unit: us
    at: {hosts: 2, clients: 1}
    columns: [{label: one}, {label: two, clients: 2, as: {b: published}}]
    rows: [{network: a, values: [1, -2.5]}, {network: b, values: [null, "three"]}]
`

func TestDecode(t *testing.T) {
	s, err := decode("small", []byte(small))
	iferr.Fatal(t, err)
	cells := s.Tables[0].Cells
	if len(cells) != 4 || cells[0].Value != 1 || cells[1].Value != -2.5 || cells[1].Clients != 2 || cells[1].Hosts != 2 || cells[0].Clients != 1 {
		t.Errorf("cells are %+v", cells)
	}
	if cells[2].As != "bridge" || cells[3].As != "published" || cells[2].Given() || cells[3].Given() {
		t.Errorf("cells are %+v", cells)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"which is not a network": {"network: b,", "network: c,"},
		"values of a in 2":       {"[1, -2.5]", "[1]"},
		"bool":                   {"[1, -2.5]", "[1, true]"},
		"colour":                 {"unit: us", "colour: us"},
	} {
		text := strings.Replace(small, change[0], change[1], 1)
		if _, err := decode("small", []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q instead of %q: %v, want %q", change[1], change[0], err, name)
		}
	}
}
