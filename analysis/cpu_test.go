package analysis

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

// twoHosts returns a trial, 2 s long, of a network with a daemon on each host.
func twoHosts(change func(*record.Trial)) record.Trial {
	t := throughputTrial(streamCell("flannel-udp"), 1, 1e9)
	t.Window = 2
	t.Endpoints = []record.Endpoint{{Name: "h2c1", Role: "client", Host: "h2"}, {Name: "h1c1", Role: "server", Host: "h1"}, {Name: "h3c1", Role: "client", Host: "h3"}}
	t.CPU = &record.CPUUse{
		Client: record.ProcessCPU{System: 1}, Server: record.ProcessCPU{User: 0.5},
		Daemons: []record.ProcessCPU{{Name: "flanneld on h1", Host: "h1", User: 0.25}, {Host: "h2", User: 0.5}, {Host: "h3", System: 0.125}},
		Machine: record.MachineCPU{Busy: 3.5}, Idle: 0.125,
	}
	if change != nil {
		change(&t)
	}
	return t
}

func TestLoadsOfHosts(t *testing.T) {
	const unknown = -1
	for _, c := range []struct {
		name                   string
		change                 func(*record.Trial)
		client, server, shared float64 // CPU seconds per second
	}{
		{"told apart", nil, (1 + 0.5 + 0.125) / 2, (0.5 + 0.25) / 2, (3.5 - 0.25 - 1 - 0.5 - 0.875) / 2},
		{"no daemons", func(t *record.Trial) { t.CPU.Daemons = nil }, 0.5, 0.25, (3.5 - 0.25 - 1.5) / 2},
		{"one host", func(t *record.Trial) {
			for i := range t.Endpoints {
				t.Endpoints[i].Host = "h1"
			}
		}, unknown, unknown, 0.875 / 2},
		{"both roles on one of several", func(t *record.Trial) { t.Endpoints[1].Host = "h3" }, unknown, unknown, 0.875 / 2},
		{"an endpoint anywhere", func(t *record.Trial) { t.Endpoints[2].Host = "" }, unknown, unknown, 0.875 / 2},
		{"a daemon anywhere", func(t *record.Trial) { t.CPU.Daemons[0].Host = "" }, unknown, unknown, 0.875 / 2},
		{"no endpoints", func(t *record.Trial) { t.Endpoints = nil }, unknown, unknown, 0.875 / 2},
		{"servers not counted", func(t *record.Trial) { t.CPU.Server = record.ProcessCPU{} }, 1.625 / 2, unknown, unknown},
		{"processes that fill all CPUs", func(t *record.Trial) { t.CPU.Machine.Busy = 2.575 }, 1.625 / 2, 0.375, 0},
		{"busy when it should have been idle", func(t *record.Trial) { t.CPU.Idle = 0.75 }, 1.625 / 2, 0.375, 0},
		{"machines of their own", func(t *record.Trial) {
			t.CPU.Hosts = []record.HostCPU{{Host: "h1", Busy: 1.5, Idle: 0.25}, {Host: "h2", Busy: 2}, {Host: "h3", Busy: 1, Idle: 0.5}}
		}, (2 + 0) / 2.0, 0.5, 0.875 / 2},
		{"a machine that is missing", func(t *record.Trial) { t.CPU.Hosts = []record.HostCPU{{Host: "h1", Busy: 1.5}} }, unknown, 0.75, 0.875 / 2},
		{"machines that were read too late", func(t *record.Trial) {
			t.CPU.Machine, t.CPU.Hosts = record.MachineCPU{}, []record.HostCPU{{Host: "h1"}, {Host: "h2"}, {Host: "h3"}}
		}, unknown, unknown, unknown},
	} {
		row := rowOf(t, Analyze(fileOf(twoHosts(c.change))), "flannel-udp")
		for name, want := range map[string]float64{CPUClientHost: c.client, CPUServerHost: c.server, CPUShared: c.shared} {
			f, ok := row.Load(name)
			if ok != (want != unknown) || ok && math.Abs(f.Summary.Median-want) > 1e-9 {
				t.Errorf("%s: %s is %v, %v, want %v", c.name, name, f.Summary.Median, ok, want)
			}
		}
		if row.Apart != strings.Contains(c.name, "machine") {
			t.Errorf("%s: apart is %v", c.name, row.Apart)
		}
	}
}

// cloud returns a table of the CPU time of clients, for a network with the counterparts as and for a baseline.
func cloud(as string) reference.Source {
	place := reference.Place{Label: "1", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Processes: 1}
	t := reference.Table{Name: "load", Metric: reference.CPUClient, Unit: "percent of the machine", Baseline: "plain", Tool: "engine",
		Workload: record.TCPStream, Streams: 1, Columns: []reference.Place{place}}
	for network, is := range map[string]string{"weave-pcap": as, "plain": "host"} {
		t.Cells = append(t.Cells, reference.Published{Network: network, As: is, Place: place, Value: 50})
	}
	slices.SortFunc(t.Cells, func(a, b reference.Published) int { return strings.Compare(b.Network, a.Network) })
	return reference.Source{Name: "cloud", Networks: []reference.Network{{Name: "weave-pcap", As: as}, {Name: "plain", As: "host"}}, Tables: []reference.Table{t}}
}

func TestTechniqueWithAlternatives(t *testing.T) {
	trial := func(network string, client float64, hosts ...string) record.Trial {
		tr := throughputTrial(streamCell(network), 1, 1e9)
		tr.CPU = &record.CPUUse{Client: record.ProcessCPU{System: client}, Server: record.ProcessCPU{System: 1}}
		if len(hosts) > 0 {
			tr.Endpoints = []record.Endpoint{{Role: "client", Host: hosts[0]}, {Role: "server", Host: hosts[1]}}
			tr.CPU.Daemons = []record.ProcessCPU{{Host: hosts[0], User: 2}}
		}
		return tr
	}
	const either = "weave-sleeve|udp-overlay-packet"
	for _, c := range []struct {
		name   string
		trials []record.Trial
		over   string
		value  float64 // 0 means not measured
		says   string  // why, or a note
	}{
		{"the real one", []record.Trial{trial("host", 1), trial("udp-overlay-packet", 2), trial("weave-sleeve", 3)}, "weave-sleeve", 3, "of the processes, in the source"},
		{"the other", []record.Trial{trial("host", 1), trial("udp-overlay-packet", 2), lostTrial(streamCell("weave-sleeve"), 1, record.Skipped, "no weaver")},
			"udp-overlay-packet", 2, "measured over udp-overlay-packet, which stands in for weave-sleeve and is not weave-pcap"},
		{"none of them", []record.Trial{trial("host", 1), lostTrial(streamCell("weave-sleeve"), 1, record.Skipped, "no weaver")}, "weave-sleeve", 0, "skipped: no weaver"},
		{"both failed", []record.Trial{trial("host", 1), lostTrial(streamCell("udp-overlay-packet"), 1, record.Failed, "no tun"), lostTrial(streamCell("weave-sleeve"), 1, record.Skipped, "no weaver")},
			"weave-sleeve", 0, "skipped: no weaver"},
		{"not planned", []record.Trial{trial("host", 1)}, "", 0, "weave-sleeve or udp-overlay-packet is not part of this run"},
		{"by host", []record.Trial{trial("host", 1, "h2", "h1"), trial("weave-sleeve", 3, "h2", "h1")}, "weave-sleeve", 5, "of the processes and daemons on that host"},
	} {
		got := cellAt(t, replicate(Analyze(fileOf(c.trials...)), cloud(either)), "load", "weave-pcap", "1")
		said := got.Skipped + strings.Join(got.Notes, "; ")
		if got.Cell.Network != c.over || !strings.Contains(said, c.says) || (got.Measured == nil) != (c.value == 0) {
			t.Errorf("%s: %q, %q, want %q, %q", c.name, got.Cell.Network, said, c.over, c.says)
		}
		if got.Measured != nil && math.Abs(got.Measured.Summary.Median-c.value) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got.Measured.Summary.Median, c.value)
		}
	}
	// A conclusion names the networks it rests on.
	src := cloud(either)
	src.Conclusions = []reference.Conclusion{{Text: "plain is cheaper", Checks: []reference.Check{{Kind: reference.Faster, Network: "plain", Against: "weave-pcap"}}}}
	for over, want := range map[string]bool{"udp-overlay-packet": true, "weave-sleeve": false} {
		var trials []record.Trial
		for round := range 8 {
			for network, client := range map[string]float64{"host": 1, over: 2} {
				tr := trial(network, client+0.001*float64(round))
				tr.Round = round + 1
				trials = append(trials, tr)
			}
		}
		got := replicate(Analyze(fileOf(trials...)), src).Conclusions[0]
		text := strings.Contains(got.Text(), "udp-overlay-packet stands in for weave-pcap")
		evidence := strings.Contains(strings.Join(got.Evidence, "; "), "plain against weave-pcap (udp-overlay-packet)")
		if got.Measured != Holds || text != want || evidence != want || !strings.Contains(strings.Join(got.Evidence, "; "), "published 1 times") {
			t.Errorf("over %s: %v, %q, %q", over, got.Measured, got.Text(), got.Evidence)
		}
	}
	// Figures of a host are not compared with figures of processes.
	r := replicate(Analyze(fileOf(trial("host", 1), trial("weave-sleeve", 3, "h2", "h1"))), cloud(either))
	if got := cellAt(t, r, "load", "weave-pcap", "1"); got.Measured == nil || got.Ratio != nil {
		t.Errorf("measured %v, ratio %+v", got.Measured, got.Ratio)
	}
	if r.Tables[0].CPUs != 2 {
		t.Errorf("%d CPUs", r.Tables[0].CPUs)
	}
	// How many CPUs machines elsewhere have is not known.
	away := trial("host", 1, "h2", "h1")
	away.CPU.Hosts = []record.HostCPU{{Host: "h1"}, {Host: "h2"}}
	if n := replicate(Analyze(fileOf(away)), cloud(either)).Tables[0].CPUs; n != 0 {
		t.Errorf("%d CPUs of other machines", n)
	}
}

func TestLoads(t *testing.T) {
	trials := pairedTrials(4, 8, 0.9, 0.01)
	for i := range trials {
		use := &record.CPUUse{
			Client:  record.ProcessCPU{User: 0.25, System: 0.75, CPUs: []int{0}},
			Server:  record.ProcessCPU{CPUs: []int{1}}, // not reported by the tool
			Machine: record.MachineCPU{Busy: 3},
		}
		if trials[i].Cell.Network == "bridge" {
			use.Client.System, use.Daemons = 1.75, []record.ProcessCPU{{User: 0.5}, {System: 0.25}}
			use.Containers = []record.ContainerCPU{{Name: "h1c1", CPU: 2}, {Name: "h1c2", CPU: 0.5}}
		}
		trials[i].CPU, trials[i].Window = use, 2
		trials[i].Flows = []record.Flow{{Stream: trials[i].Round}}
	}
	row := rowOf(t, Analyze(fileOf(trials...)), "bridge")
	for name, want := range map[string]float64{reference.CPUClient: 1, CPUDaemons: 0.375, CPUContainers: 1.25, CPUMachine: 1.5} {
		if f, ok := row.Load(name); !ok || f.Summary.Median != want || f.Kind.Unit != "cpu-s/s" {
			t.Errorf("%s is %+v, want %v", name, f.Summary, want)
		}
	}
	if f, _ := row.Load(reference.CPUClient); f.Ratio == nil || f.Ratio.Value < 1.99 || f.Ratio.Value > 2.01 {
		t.Errorf("clients need %+v of native's", f.Ratio)
	}
	if _, ok := row.Load(reference.CPUServer); ok {
		t.Error("CPU time of servers was not recorded")
	}
	if _, ok := rowOf(t, Analyze(fileOf(trials...)), "host").Load(CPUContainers); ok {
		t.Error("a network without containers has CPU time of theirs")
	}
	if row.Window != 2 || len(row.Flows) != 1 || row.Flows[0].Stream != 8 || !slices.Equal(row.ClientCPUs, []int{0}) || !slices.Equal(row.ServerCPUs, []int{1}) {
		t.Errorf("window %v, flows %v, CPUs %v and %v", row.Window, row.Flows, row.ClientCPUs, row.ServerCPUs)
	}
	if row.Figures[0].Points[2].Round != 3 || row.Figures[0].Points[2].Value <= 0 {
		t.Errorf("points are %+v", row.Figures[0].Points)
	}
}
