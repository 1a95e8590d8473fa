package analysis

import (
	"encoding/base64"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/record"
)

func histogramOf(t testing.TB, highest int64, digits int, values ...int64) *record.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, highest, digits)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return &record.Histogram{Encoded: string(b), Count: h.TotalCount()}
}

func latencyTrials(hs ...*record.Histogram) []record.Trial {
	var out []record.Trial
	for i, h := range hs {
		t := throughputTrial(streamCell("host"), i+1, 1)
		t.Latency = h
		out = append(out, t)
	}
	return out
}

func TestMergeLatency(t *testing.T) {
	miscounted := histogramOf(t, 1e9, 3, 1000)
	miscounted.Count = 2
	damaged := histogramOf(t, 1e9, 3, 1000, 2000)
	damaged.Encoded = damaged.Encoded[:len(damaged.Encoded)-8]
	for _, tt := range []struct {
		name  string
		in    []*record.Histogram
		count int64
		max   int64 // within a thousandth
		bad   int
	}{
		{"none", []*record.Histogram{nil, nil}, -1, 0, 0},
		{"two", []*record.Histogram{histogramOf(t, 1e9, 3, 1000, 2000), histogramOf(t, 1e9, 3, 3000)}, 3, 3000, 0},
		{"the later is wider", []*record.Histogram{histogramOf(t, 1e4, 3, 1000), histogramOf(t, 1e10, 3, 9e9)}, 2, 9e9, 0},
		{"the later is narrower", []*record.Histogram{histogramOf(t, 1e10, 3, 9e9), histogramOf(t, 1e4, 3, 1000)}, 2, 9e9, 0},
		{"coarser", []*record.Histogram{histogramOf(t, 1e6, 1, 1000), histogramOf(t, 1e6, 3, 1234)}, 2, 1234, 0},
		{"not base64", []*record.Histogram{{Encoded: "?"}, histogramOf(t, 1e9, 3, 5)}, 1, 5, 1},
		{"not a histogram", []*record.Histogram{{Encoded: base64.StdEncoding.EncodeToString(make([]byte, 64))}}, -1, 0, 1},
		{"empty", []*record.Histogram{{}}, -1, 0, 1},
		{"cut off", []*record.Histogram{damaged}, -1, 0, 1},
		{"other count", []*record.Histogram{miscounted}, -1, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, bad, why := mergeLatency(each(latencyTrials(tt.in...)))
			if bad != tt.bad || (why != nil) != (bad > 0) {
				t.Errorf("%d are bad (%v), want %d", bad, why, tt.bad)
			}
			if (got == nil) != (tt.count < 0) {
				t.Fatalf("got %v", got)
			}
			if got == nil {
				return
			}
			if got.TotalCount() != tt.count || math.Abs(float64(got.Max()-tt.max)) > float64(tt.max)/1000 {
				t.Errorf("%d values up to %d, want %d up to %d", got.TotalCount(), got.Max(), tt.count, tt.max)
			}
		})
	}
}

// TestBars compares what is read without room for empty buckets with what the dense histogram says.
func TestBars(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for digits := 1; digits <= 5; digits++ {
		for _, lowest := range []int64{1, 2, 1000, 4095, 1 << 20} {
			dense := hdrhistogram.New(lowest, int64(time.Hour), digits)
			for range 300 {
				if err := dense.RecordValues(int64(math.Exp(28*r.Float64())), 1+r.Int64N(5)); err != nil {
					t.Fatal(err)
				}
			}
			var want []hdrhistogram.Bar
			for _, b := range dense.Distribution() {
				if b.Count > 0 {
					want = append(want, b)
				}
			}
			text, err := dense.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeLatency(&record.Histogram{Encoded: string(text), Count: dense.TotalCount()})
			if err != nil {
				t.Fatal(err)
			}
			if bars := barsOf(got); !slices.Equal(bars, want) {
				t.Errorf("%d digits, from %d ns on: %v, want %v", digits, lowest, bars, want)
			}
		}
	}
}
