package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/internal/testutil/iferr"
)

// TestSlotIsHdrHistograms records the same values with the library.
func TestSlotIsHdrHistograms(t *testing.T) {
	values := []int64{0, 1, 2, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 1e6, 1e9, highestLatency - 1, highestLatency}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		values = append(values, random.Int64N(highestLatency)>>random.IntN(40))
	}
	want := hdrhistogram.New(lowestLatency, highestLatency, significantDigits)
	got := newLatencies()
	for _, v := range values {
		iferr.Fatal(t, want.RecordValue(v))
		got.add(v)
	}
	if got.count() != int64(len(values)) {
		t.Errorf("%d values, want %d", got.count(), len(values))
	}
	counts := want.Export().Counts
	if !slices.Equal(got.counts, counts[:len(got.counts)]) {
		t.Error("the slots are not those of the library")
	}
	if !got.histogram().Equals(want) {
		t.Error("the histogram is not that of the library")
	}
}

func TestMergeHistograms(t *testing.T) {
	var encoded []string
	for _, value := range []int64{100, 200, 1_000_000} {
		l := newLatencies()
		l.add(value)
		e, err := encodeHistogram(l.histogram())
		iferr.Fatal(t, err)
		encoded = append(encoded, e)
	}
	sum, err := mergeHistograms(encoded)
	iferr.Fatal(t, err)
	h, err := recordHistogram(sum)
	iferr.Fatal(t, err)
	if h.Count != 3 || h.Min != 100 || h.P50 != 200 {
		t.Errorf("got %+v", h)
	}
	if h.Max < 1_000_000 || h.Max > 1_001_000 {
		t.Errorf("maximum %d is not 1000000 and at most 0.1 %%", h.Max)
	}
	for _, garbage := range []string{"", "?", "AAAA", encoded[0][:20]} {
		if _, err := mergeHistograms([]string{garbage}); err == nil {
			t.Errorf("%q: no error", garbage)
		}
	}
}

// TestPercentilesOfHistogram has the latencies from 1 to 1000 µs.
func TestPercentilesOfHistogram(t *testing.T) {
	l := newLatencies()
	for us := range int64(1000) {
		l.add((us + 1) * 1000)
	}
	h, err := recordHistogram(l.histogram())
	iferr.Fatal(t, err)
	for percentile, got := range map[float64]int64{50: h.P50, 90: h.P90, 99: h.P99, 99.9: h.P999, 100: h.Max} {
		if want := percentile * 10_000; math.Abs(float64(got)-want) > want/900 {
			t.Errorf("percentile %v is %d ns, want %v", percentile, got, want)
		}
	}
}

func (l *latencies) count() (n int64) {
	for _, c := range l.counts {
		n += c
	}
	return n
}
