package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/internal/wrap"
	"nettoll/record"
)

// The range of latencies and their resolution.
const (
	lowestLatency     = 1 // ns
	highestLatency    = int64(time.Hour)
	significantDigits = 3
	// subBucketBits: 2^11 is the first power of two that holds 2·10^3 steps.
	subBucketBits = 11
)

// latencies counts nanoseconds in the slots of an HdrHistogram. The library's own function to add a
// value is not nosplit.
type latencies struct {
	counts []int64
}

func newLatencies() *latencies {
	return &latencies{counts: make([]int64, slot(highestLatency)+1)}
}

// slot returns where HdrHistogram counts ns: buckets that each cover twice the range of the one
// before in the same number of steps, and share its upper half.
//
//go:nosplit
func slot(ns int64) int {
	bucket := bits.Len64(uint64(ns)|(1<<subBucketBits-1)) - subBucketBits
	return bucket<<(subBucketBits-1) + int(ns>>bucket)
}

// lowest returns the least number of ns that is counted in a slot.
func lowest(slot int) int64 {
	bucket := max(0, slot>>(subBucketBits-1)-1)
	return int64(slot-bucket<<(subBucketBits-1)) << bucket
}

//go:nosplit
func (l *latencies) add(ns int64) { l.counts[slot(min(ns, highestLatency))]++ }

// none reports whether nothing was counted.
func (l *latencies) none() bool {
	return !slices.ContainsFunc(l.counts, func(n int64) bool { return n > 0 })
}

func (l *latencies) histogram() *hdrhistogram.Histogram {
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  lowestLatency,
		HighestTrackableValue: highestLatency,
		SignificantFigures:    significantDigits,
		Counts:                l.counts,
	})
}

// encodeHistogram returns HdrHistogram's compressed V2 encoding as base64 text.
func encodeHistogram(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(b), wrap.Error(err, "encode latencies")
}

// encodeSum encodes the sum of the latencies of several flows, or returns "" if none of them has
// any.
func encodeSum(flows []*latencies) (string, error) {
	var sum *latencies
	for _, l := range flows {
		if l == nil {
			continue
		}
		if sum == nil {
			sum = newLatencies()
		}
		addTo(&sum.counts, l.counts)
	}
	if sum == nil {
		return "", nil
	}
	return encodeHistogram(sum.histogram())
}

// mergeHistograms adds up encoded histograms.
func mergeHistograms(encoded []string) (*hdrhistogram.Histogram, error) {
	sum := hdrhistogram.New(lowestLatency, highestLatency, significantDigits)
	for _, e := range encoded {
		h, err := hdrhistogram.Decode([]byte(e))
		if err != nil {
			return nil, fmt.Errorf("decode latencies: %w", err)
		}
		if dropped := sum.Merge(h); dropped > 0 {
			return nil, fmt.Errorf("merge latencies: %d are out of range", dropped)
		}
	}
	return sum, nil
}

// recordHistogram returns a histogram in its recorded form.
func recordHistogram(h *hdrhistogram.Histogram) (*record.Histogram, error) {
	encoded, err := encodeHistogram(h)
	if err != nil {
		return nil, err
	}
	return &record.Histogram{
		Encoded: encoded,
		Count:   h.TotalCount(),
		Min:     h.Min(),
		P50:     h.ValueAtPercentile(50),
		P90:     h.ValueAtPercentile(90),
		P99:     h.ValueAtPercentile(99),
		P999:    h.ValueAtPercentile(99.9),
		Max:     h.Max(),
	}, nil
}

// merged adds up a histogram of all parties that have it; it returns nil if none has.
func (t *trial) merged(of func(startResult) string) (*hdrhistogram.Histogram, error) {
	all := record.Each(t.parties(), func(p *party) string { return of(p.window) })
	encoded := record.Those(all, func(e string) bool { return e != "" })
	if len(encoded) == 0 {
		return nil, nil
	}
	return mergeHistograms(encoded)
}
