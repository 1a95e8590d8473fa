package analysis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/analysis"
	"nettoll/record"
)

func TestSettlings(t *testing.T) {
	bridge := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: 1000}, Tool: "engine", Workload: record.TCPRR, Placement: "distinct"}
	other := bridge
	other.Family, other.Workload = 6, record.TCPStream
	few := bridge
	few.Neighbours = 0
	f := &record.File{Run: record.Run{Cells: []record.Cell{bridge, other, few}}}
	used := []float64{2, 40, 0}
	for i, s := range []*record.Settle{{Wait: 3, CPU: &used[0], Packets: 500, Silent: true}, nil, {Wait: 0, Silent: true}} {
		f.Trials = append(f.Trials, record.Trial{Cell: f.Run.Cells[i], Round: 1, Status: record.OK, Settle: s})
	}
	f.Trials[0].CPU = &record.CPUUse{Resting: &record.Resting{Watched: 2, CPU: 0.5}}
	f.Trials[1].CPU = &record.CPUUse{Resting: &record.Resting{Watched: 4, CPU: 3}}
	// In the next rounds another cell of the network comes first, and its trial fails.
	f.Trials = append(f.Trials,
		record.Trial{Cell: other, Round: 2, Status: record.Failed, Reason: "why", Settle: &record.Settle{Wait: 30, CPU: &used[1], Packets: 9000}},
		record.Trial{Cell: other, Round: 3, Status: record.OK, Settle: &record.Settle{Wait: 4, CPU: &used[2], Packets: 700, Silent: true}})
	got := analysis.Analyze(f).Settlings
	want := []analysis.Settling{
		{Cell: record.Cell{Network: "bridge", Hosts: 1, Servers: 1, Clients: 1, Setup: record.Setup{Neighbours: 1000}}, Built: 3, Silent: 2,
			Wait: analysis.Spread{Median: 4, Max: 30}, CPU: &analysis.Spread{Median: 2, Max: 40}, Packets: analysis.Spread{Median: 700, Max: 9000},
			Resting: analysis.Spread{Median: 0.5, Max: 0.75}, Rested: 2},
		{Cell: record.Cell{Network: "bridge", Hosts: 1, Servers: 1, Clients: 1}, Built: 1, Silent: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Namespaces that share a machine are distinguished from machines here, too.
func TestSettledNamespaces(t *testing.T) {
	for hosts, want := range map[int]analysis.Namespaces{1: false, 2: true} {
		c := record.Cell{Network: "vxlan", Hosts: hosts, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: "distinct"}
		f := &record.File{Run: record.Run{Cells: []record.Cell{c}}, Trials: []record.Trial{
			{Cell: c, Round: 1, Status: record.OK, Settle: &record.Settle{Wait: 3, Silent: true}}, {Cell: c, Round: 2, Status: record.OK}}}
		if got := analysis.Analyze(f).Settlings[0].Namespaces; got != want {
			t.Errorf("%d hosts: namespaces %v, want %v", hosts, got, want)
		}
		f.Trials[1].CPU = &record.CPUUse{Hosts: []record.HostCPU{{Host: "machine 1"}, {Host: "machine 2"}}}
		if analysis.Analyze(f).Settlings[0].Namespaces {
			t.Errorf("%d machines are called namespaces", hosts)
		}
		for i := range f.Trials {
			f.Trials[i].Status, f.Trials[i].CPU = record.Failed, nil
		}
		if analysis.Analyze(f).Settlings[0].Namespaces {
			t.Errorf("%d hosts on which nothing was measured are called namespaces", hosts)
		}
	}
}
