package analysis_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func TestNodeUses(t *testing.T) {
	pod := record.Cell{Network: "kubernetes:pod", Hosts: 2, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: "distinct"}
	other := pod
	other.Workload = record.TCPStream
	native := pod
	native.Network = "kubernetes:native"
	f := &record.File{Run: record.Run{Cells: []record.Cell{pod, other, native}}}
	add := func(c record.Cell, round int, s record.Status, daemons ...record.DaemonCPU) {
		f.Trials = append(f.Trials, record.Trial{Cell: c, Round: round, Status: s, Window: 2, CPU: &record.CPUUse{NodeDaemons: daemons}})
	}
	add(pod, 1, record.OK, record.DaemonCPU{Name: "kube-proxy", Host: "h1", CPU: 0.5}, record.DaemonCPU{Name: "kubelet", Host: "h1", CPU: 1}, record.DaemonCPU{Name: "kubelet", Host: "h2", CPU: 3})
	add(other, 1, record.OK, record.DaemonCPU{Name: "kubelet", Host: "h1", CPU: 2})
	add(native, 1, record.OK, record.DaemonCPU{Name: "kubelet", Host: "h1", CPU: 1})
	add(native, 2, record.Invalid, record.DaemonCPU{Name: "kubelet", Host: "h1", CPU: 100})
	add(native, 3, record.OK) // unknown
	of := func(c record.Cell) record.Cell {
		return record.Cell{Network: c.Network, Hosts: 2, Servers: 1, Clients: 1}
	}
	want := []analysis.NodeUse{
		{Cell: of(pod), Trials: 2, Daemons: []analysis.DaemonUse{{Name: "kubelet", Use: analysis.Spread{Median: 1.5, Max: 2}}, {Name: "kube-proxy", Use: analysis.Spread{Median: 0.125, Max: 0.25}}}},
		{Cell: of(native), Trials: 1, Daemons: []analysis.DaemonUse{{Name: "kubelet", Use: analysis.Spread{Median: 0.5, Max: 0.5}}, {Name: "kube-proxy"}}},
	}
	got := analysis.Analyze(f).NodeUses
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(got[1])
	iferr.Fatal(t, err)
	var fields map[string]any
	iferr.Fatal(t, json.Unmarshal(text, &fields))
	if _, has := fields["workload"]; has || fields["network"] != "kubernetes:native" || fields["trials"] != 1.0 {
		t.Errorf("it is written as %s", text)
	}
}
