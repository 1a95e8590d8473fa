package analysis

import (
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// byTime is a percentile of latencies weighted with their own lengths: of a moment picked
// at random among those in which a transaction was under way, the transaction took no
// longer than this with the probability q. Its weight in the distribution is count times
// length, where that of a plain percentile is count.
//
// Where one transaction follows the other (a closed loop), a stall of 20 ms among
// transactions of 20 µs is one of thousands, and no percentile that anybody prints shows
// it, while it holds up every request that somebody else would send meanwhile. That
// plain percentiles leave it out is coordinated omission (Gil Tene, How NOT to measure
// latency, 2013); that a random moment rather meets a long interval than a short one is the
// inspection paradox (Feller, An Introduction to Probability Theory and Its
// Applications, volume II, section I.4). A request that arrives at such a moment, behind
// the transaction, would wait for what is left of it, which is between nothing and all of it.
//
// It is 0 where there are no bars.
func byTime(bars []hdrhistogram.Bar, q float64) int64 {
	total := underWay(bars)
	sum, last := 0.0, int64(0)
	for _, b := range bars {
		sum, last = sum+weight(b), b.To
		if sum >= q*total {
			break
		}
	}
	return last
}

// weight is the time that the transactions of a bar took.
func weight(b hdrhistogram.Bar) float64 {
	return float64(b.Count) * (float64(b.From) + float64(b.To)) / 2
}

// underWay is the time that all of them took, in nanoseconds.
func underWay(bars []hdrhistogram.Bar) (sum float64) {
	for _, b := range bars {
		sum += weight(b)
	}
	return sum
}

// Complete adds to trials the figures that can be computed from what they hold, and takes
// away those of old run files that say something else than their names: it makes every
// trial what this version would have recorded.
//
//   - Percentiles by time, and the share of the window that transactions cover, of closed
//     loops whose latencies were kept.
//   - Where streams and transactions share a network, bytes and transactions used to be
//     added up for the fairness, and the CPU time of streams was divided by the number of
//     transactions.
func Complete(trials []record.Trial) []record.Trial {
	out := make([]record.Trial, len(trials))
	for i, t := range trials {
		out[i] = complete(t)
	}
	return out
}

// CompleteTrial does so with a single trial, in its place.
func CompleteTrial(t *record.Trial) { *t = complete(*t) }

func complete(t record.Trial) record.Trial {
	if t.Status != record.OK {
		return t
	}
	m := maps.Clone(t.Metrics)
	if m == nil {
		m = map[string]record.Metric{}
	}
	if record.Mixed(t.Cell.Workload) {
		delete(m, record.CPUPerTransaction)
		delete(m, record.Fairness)
		if index, ok := record.Jain(t.Flows); ok {
			m[record.Fairness] = record.Measured(record.Fairness, index)
		}
	}
	if t.Latency != nil && t.Cell.ClosedLoop() {
		if h, err := decodeLatency(t.Latency); err == nil && h.TotalCount() > 0 {
			bars := barsOf(h)
			for name, q := range map[string]float64{record.LatencyP99ByTime: 0.99, record.LatencyP999ByTime: 0.999} {
				m[name] = record.Measured(name, float64(byTime(bars, q))/1e9)
			}
			if t.Covered == 0 {
				t.Covered = covered(bars, t)
			}
		}
	}
	t.Metrics = m
	return t
}

// covered is the share of the window that transactions took, of all flows that made some.
func covered(bars []hdrhistogram.Bar, t record.Trial) float64 {
	flows := 0.0
	for _, f := range t.Flows {
		if f.Transactions > 0 {
			flows++
		}
	}
	if flows == 0 || t.Window <= 0 {
		return 0
	}
	return min(1, underWay(bars)/1e9/(flows*t.Window))
}
