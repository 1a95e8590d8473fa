package runner

import (
	"nettoll/record"
)

// share adds what a trial of several clients says of the average one, and how evenly
// the flows share the network: Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984),
// the squared sum over n times the sum of squares. It is 1 when all are equal and 1/n
// when one has everything.
func share(t *record.Trial) {
	if total, ok := t.Metrics[record.Throughput]; ok && t.Cell.Pairs() > 1 {
		t.Metrics[record.ThroughputPerClient] = record.Measured(record.ThroughputPerClient, total.Value/float64(t.Cell.Pairs()))
	}
	if len(t.Flows) < 2 {
		return
	}
	var sum, squares float64
	for _, f := range t.Flows {
		x := float64(f.Bytes + f.Transactions)
		sum += x
		squares += x * x
	}
	if squares > 0 {
		t.Metrics[record.Fairness] = record.Measured(record.Fairness, sum*sum/(float64(len(t.Flows))*squares))
	}
}
