package analysis

import (
	"fmt"
	"maps"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// mergeLatency adds up the histograms of trials, in nanoseconds. A histogram that cannot be read is left
// out and counted in bad; why is the error of the last of them. The result is nil if no trial has one.
func mergeLatency(trials []*record.Trial) (merged *hdrhistogram.PackedHistogram, bad int, why error) {
	for _, t := range trials {
		if t.Latency == nil {
			continue
		}
		h, err := decodeLatency(t.Latency)
		if err == nil {
			merged, err = addLatency(merged, h)
		}
		if err != nil {
			bad++
			why = fmt.Errorf("round %d: %w", t.Round, err)
		}
	}
	return merged, bad, why
}

// percentiles is a distribution of latencies for machine-readable reports, in seconds.
type percentiles struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// percentilesOf returns nil if there are no latencies.
func percentilesOf(h *hdrhistogram.PackedHistogram) *percentiles {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(h.ValueAtPercentile(q)) / 1e9 }
	return &percentiles{h.TotalCount(), float64(h.Min()) / 1e9, at(50), at(90), at(99), at(99.9), float64(h.Max()) / 1e9}
}

// decodeLatency reads the histogram of one trial, and keeps only the few hundred buckets with values. A dense
// histogram has tens of thousands of buckets, which makes analysing thousands of trials ten times slower.
func decodeLatency(l *record.Histogram) (*hdrhistogram.PackedHistogram, error) {
	h, err := hdrhistogram.DecodePacked([]byte(l.Encoded))
	if err != nil {
		return nil, err
	}
	if h.TotalCount() != l.Count {
		return nil, fmt.Errorf("histogram of %d values where %d were counted", h.TotalCount(), l.Count)
	}
	return h, nil
}

// barsOf returns the non-empty buckets of a histogram, in ascending order. Values that agree in
// their first bits share a bucket: the number of bits is what it takes to count to twice ten to
// the power of the histogram's digits. No bucket is narrower than its lowest trackable value.
func barsOf(h *hdrhistogram.PackedHistogram) []hdrhistogram.Bar {
	bars := make([]hdrhistogram.Bar, 0, h.Populated())
	agreeing := max(1, bits.Len64(uint64(2*math.Pow10(int(h.SignificantFigures())))-1))
	least := bits.Len64(uint64(max(1, h.LowestTrackableValue()))) - 1
	for from, count := range h.ForEachBucket {
		width := int64(1) << max(least, bits.Len64(uint64(from))-agreeing)
		bars = append(bars, hdrhistogram.Bar{Count: count, From: from, To: from + width - 1})
	}
	return bars
}

// addLatency merges h into sum and returns the sum, which grows to a geometry
// that holds every value of both at the finer of their resolutions.
func addLatency(sum, h *hdrhistogram.PackedHistogram) (*hdrhistogram.PackedHistogram, error) {
	if sum == nil {
		return h, nil
	}
	if h.TotalCount() > math.MaxInt64-sum.TotalCount() {
		return sum, fmt.Errorf("more than %d values", int64(math.MaxInt64))
	}
	to := sum
	if sum.LowestTrackableValue() != h.LowestTrackableValue() || sum.SignificantFigures() != h.SignificantFigures() ||
		sum.HighestTrackableValue() < h.HighestTrackableValue() {
		top := max(2, sum.HighestTrackableValue(), h.HighestTrackableValue(), sum.Max(), h.Max())
		to = hdrhistogram.NewPacked(1, top, int(max(1, sum.SignificantFigures(), h.SignificantFigures())))
		if to.Merge(sum) != 0 {
			return sum, fmt.Errorf("histogram cannot be widened to %d", top)
		}
	}
	if dropped := to.Merge(h); dropped != 0 {
		return to, fmt.Errorf("%d values are beyond the range of the histogram", dropped)
	}
	return to, nil
}

// byTime is a percentile of latencies weighted with their own lengths: of a moment picked at random among
// those in which a transaction was under way, the transaction took no longer than this with the probability
// q. Its weight in the distribution is count times length, where that of a plain percentile is count.
//
// Where one transaction follows the other (a closed loop), a stall of 20 ms among transactions of 20 µs
// is one of thousands, and no commonly reported percentile shows it, although it would hold up every
// request that another client sent meanwhile. That plain percentiles leave it out is coordinated
// omission (Gil Tene, How NOT to measure latency, 2013); that a random moment is more likely to fall
// into a long interval than into a short one is the inspection paradox (Feller, An Introduction to
// Probability Theory and Its Applications, volume II, section I.4). A request that arrives at such a
// moment, behind the transaction, would wait for the rest of it, which is between nothing and all of it.
//
// It is 0 if there are no bars.
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

// underWay is the time that the transactions of all bars took, in nanoseconds.
func underWay(bars []hdrhistogram.Bar) float64 { return record.Sum(bars, weight) }

// fewestBeyond is how many transactions of a trial must be beyond a percentile for it to be compared with that of a longer window.
// Of recorded transactions, those of equal networks, the p99 of a window with 9 of them beyond it was 5 % less than that of four
// such windows together, and 2 % less with 44. The p99 by time, which one or two decide in a trial of 240 ms, was 26 % less.
const fewestBeyond = 10

// beyond returns how many transactions of a trial are beyond a percentile of its latencies, or how many at most if it is one by
// time: together they take no longer than what is left of the flows' time. It is 0 if that is not known, and without bounds for
// all other metrics.
func beyond(k record.Kind, t *record.Trial) float64 {
	count := 0.0
	if t.Latency != nil {
		count = float64(t.Latency.Count)
	}
	most := func(share float64) float64 {
		if v := t.Metrics[k.Name].Value; v > 0 {
			return min(count, share*float64(len(transacting(t)))*t.Window/v)
		}
		return 0
	}
	switch k.Name {
	case record.LatencyP99:
		return 0.01 * count
	case record.LatencyP999:
		return 0.001 * count
	case record.LatencyP99ByTime:
		return most(0.01)
	case record.LatencyP999ByTime:
		return most(0.001)
	}
	return math.Inf(1)
}

// CompleteTrial brings a trial to what this version would have recorded: it adds figures that
// can be computed from it, and removes those of old run files whose meaning has changed.
//
//   - Percentiles by time, and the share of the window that transactions cover, of closed
//     loops whose latencies were kept.
//   - Where streams and transactions share a network, bytes and transactions used to be
//     added up for the fairness, and the CPU time of streams was divided by the number of
//     transactions.
func CompleteTrial(t *record.Trial) {
	if t.Status != record.OK {
		return
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
	t.Metrics = m // the trial's old map is left unchanged: others may hold it
}

// transacting returns the flows of a trial that have transactions, without streams beside them.
func transacting(t *record.Trial) []record.Flow {
	return record.Those(t.Flows, func(f record.Flow) bool { return f.Transactions > 0 })
}

// covered is the share of the window that transactions took, over all flows with transactions.
func covered(bars []hdrhistogram.Bar, t *record.Trial) float64 {
	flows := transacting(t)
	if len(flows) == 0 || t.Window <= 0 {
		return 0
	}
	return min(1, underWay(bars)/1e9/(float64(len(flows))*t.Window))
}
