package runner

import (
	"nettoll/record"
)

// shareOut adds what a trial of several clients says of the average one, and how evenly
// the flows share the network.
func shareOut(t *record.Trial) {
	if total, ok := t.Metrics[record.Throughput]; ok && t.Cell.Pairs() > 1 {
		t.Metrics[record.ThroughputPerClient] = record.Measured(record.ThroughputPerClient, total.Value/float64(t.Cell.Pairs()))
	}
	if index, ok := record.Jain(t.Flows); ok {
		t.Metrics[record.Fairness] = record.Measured(record.Fairness, index)
	}
}
