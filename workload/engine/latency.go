package engine

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

// The range of latencies and how finely it is told apart.
const (
	lowestLatency     = 1 // ns
	highestLatency    = int64(time.Hour)
	significantDigits = 3
	// subBucketBits: 2^11 is the first power of two that holds 2·10^3 steps.
	subBucketBits = 11
)

// latencies counts nanoseconds in the slots of an HdrHistogram. The library's own
// way of adding one is not nosplit.
type latencies struct {
	counts []int64
}

func newLatencies() *latencies {
	return &latencies{counts: make([]int64, slot(highestLatency)+1)}
}

// slot is where HdrHistogram counts ns: buckets that each cover twice the range of
// the one before in the same number of steps, and share its upper half.
//
//go:nosplit
func slot(ns int64) int {
	bucket := bits.Len64(uint64(ns)|(1<<subBucketBits-1)) - subBucketBits
	return bucket<<(subBucketBits-1) + int(ns>>bucket)
}

// lowest is the least number of ns that is counted in a slot.
func lowest(slot int) int64 {
	bucket := max(0, slot>>(subBucketBits-1)-1)
	return int64(slot-bucket<<(subBucketBits-1)) << bucket
}

//go:nosplit
func (l *latencies) add(ns int64) { l.counts[slot(min(ns, highestLatency))]++ }

// none reports whether nothing was counted.
func (l *latencies) none() bool {
	for _, c := range l.counts {
		if c > 0 {
			return false
		}
	}
	return true
}

func (l *latencies) count() (n int64) {
	for _, c := range l.counts {
		n += c
	}
	return n
}

func (l *latencies) histogram() *hdrhistogram.Histogram {
	return hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  lowestLatency,
		HighestTrackableValue: highestLatency,
		SignificantFigures:    significantDigits,
		Counts:                l.counts,
	})
}

// encodeHistogram makes base64 text of HdrHistogram's compressed V2 encoding.
func encodeHistogram(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode latencies: %w", err)
	}
	return string(b), nil
}

// encodeSum encodes the latencies of several flows together, or nothing if none of
// them has any.
func encodeSum(flows []*latencies) (string, error) {
	var sum *latencies
	for _, l := range flows {
		if l == nil {
			continue
		}
		if sum == nil {
			sum = newLatencies()
		}
		for i, n := range l.counts {
			sum.counts[i] += n
		}
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

// recordHistogram is the form in which latencies are recorded.
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

// merged adds up a histogram of all parties that have it, and is nil if none has.
func (t *trial) merged(of func(startResult) string) (*hdrhistogram.Histogram, error) {
	var encoded []string
	for _, p := range t.parties() {
		if e := of(p.window); e != "" {
			encoded = append(encoded, e)
		}
	}
	if len(encoded) == 0 {
		return nil, nil
	}
	return mergeHistograms(encoded)
}
