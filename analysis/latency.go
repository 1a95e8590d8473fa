package analysis

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// mergeLatency adds up the histograms of trials, in nanoseconds. A histogram
// that cannot be read is left out and counted in bad; why says what is wrong
// with the last of them. The result is nil where no trial has one.
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

// percentiles are a distribution of latencies for programs, in seconds.
type percentiles struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// percentilesOf are nil where there are no latencies.
func percentilesOf(h *hdrhistogram.PackedHistogram) *percentiles {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(h.ValueAtPercentile(q)) / 1e9 }
	return &percentiles{h.TotalCount(), float64(h.Min()) / 1e9, at(50), at(90), at(99), at(99.9), float64(h.Max()) / 1e9}
}

// decodeLatency reads what is kept of one trial. It has room for the few hundred latencies that occurred, not
// for the tens of thousands that its range could tell apart, which a dense histogram has: that makes
// thousands of trials ten times as fast.
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

// barsOf are the buckets of a histogram that hold something, in ascending order. Values share a bucket
// that agree in their first bits: as many as it takes to count to twice ten to the power of
// its digits, and none below the lowest value that it tells apart.
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
