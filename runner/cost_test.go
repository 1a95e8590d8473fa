package runner

import (
	"testing"
	"time"

	"nettoll/record"
)

func TestCostIsUnknownWhereTheIdleMachineWasBusy(t *testing.T) {
	use := func(busy, client, server, daemon float64) record.CPUUse {
		u := record.CPUUse{Machine: record.MachineCPU{Busy: busy}, Client: record.ProcessCPU{System: client}, Server: record.ProcessCPU{User: server}}
		if daemon > 0 {
			u.Daemons = []record.ProcessCPU{{System: daemon}}
		}
		return u
	}
	for name, c := range map[string]struct {
		use   record.CPUUse
		idle  float64 // CPU seconds a second
		value float64 // CPU seconds for each GB; 0: unknown
	}{
		"quiet":                        {use(1.2, 0.4, 0.5, 0), 0.2, 1},
		"all in processes":             {use(1, 0.51, 0.51, 0), 0, 1},
		"busier when idle":             {use(1.2, 0.1, 0.1, 0), 1.3, 0},
		"as busy when idle":            {use(2, 0.1, 0.1, 0), 2 - 1e-11, 0},
		"less than the processes took": {use(1.9, 0.4, 0.5, 0), 1.2, 0},
		"less than the daemon took":    {use(1.9, 0.2, 0.2, 0.5), 1.2, 0},
		"as much as with the daemon":   {use(1.9, 0.2, 0.2, 0.3), 1.2, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := map[string]record.Metric{}
			doubts := cost(metrics, c.use, c.idle, time.Second, 1e9, 0)
			got, told := metrics[record.CPUPerGB]
			if told != (c.value != 0) || told && (got.Value < c.value*0.999 || got.Value > c.value*1.001) {
				t.Errorf("cost %v, want %v", got, c.value)
			}
			if told != (len(doubts) == 0) || !told && doubts[0].Code != "idle-was-busy" {
				t.Errorf("doubts %+v", doubts)
			}
		})
	}
}
