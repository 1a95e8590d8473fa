package analysis

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// mergeLatency adds up the histograms of trials, in nanoseconds. A histogram
// that cannot be read is left out and counted in bad; why says what is wrong
// with the last of them. The result is nil where no trial has one.
func mergeLatency(trials []record.Trial) (merged *hdrhistogram.Histogram, bad int, why error) {
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

func decodeLatency(l *record.Histogram) (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(l.Encoded))
	if err != nil {
		return nil, err
	}
	if h.TotalCount() != l.Count {
		return nil, fmt.Errorf("histogram of %d values where %d were counted", h.TotalCount(), l.Count)
	}
	return h, nil
}

// addLatency merges h into sum and returns the sum, which grows to a geometry
// that holds every value of both at the finer of their resolutions.
func addLatency(sum, h *hdrhistogram.Histogram) (*hdrhistogram.Histogram, error) {
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
		to = hdrhistogram.New(1, top, int(max(1, sum.SignificantFigures(), h.SignificantFigures())))
		if to.Merge(sum) != 0 {
			return sum, fmt.Errorf("histogram cannot be widened to %d", top)
		}
	}
	if dropped := to.Merge(h); dropped != 0 {
		return to, fmt.Errorf("%d values are beyond the range of the histogram", dropped)
	}
	return to, nil
}
