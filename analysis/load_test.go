package analysis

import (
	"slices"
	"testing"

	"nettoll/record"
	"nettoll/reference"
)

func TestLoads(t *testing.T) {
	trials := pairedTrials(4, 8, 0.9, 0.01)
	for i := range trials {
		use := &record.CPUUse{
			Client:  record.ProcessCPU{User: 0.25, System: 0.75, CPUs: []int{0}},
			Server:  record.ProcessCPU{CPUs: []int{1}}, // not told by the tool
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
