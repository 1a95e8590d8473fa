package plot

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nettoll/internal/testutil/iferr"
)

// One target for each kind of chart: whatever its numbers and texts are, it is drawn, in
// time, and every position in it is a number.

// supply makes numbers and texts from the bytes of an input, and zeros after its end.
type supply struct{ rest []byte }

func (s *supply) take(n int) []byte {
	b := make([]byte, n)
	s.rest = s.rest[copy(b, s.rest):]
	return b
}

func (s *supply) float() float64 { return math.Float64frombits(binary.BigEndian.Uint64(s.take(8))) }

// upTo returns a number from 0 to n-1.
func (s *supply) upTo(n int) int { return int(s.take(1)[0]) % n }

func (s *supply) text() string { return string(s.take(s.upTo(40))) }

func (s *supply) bar() Bar {
	b := Bar{Name: s.text(), Text: s.text(), Value: s.float(), Low: s.float(), High: s.float(), Look: LookOf(s.upTo(99), false)}
	b.Native, b.Tone = s.upTo(2) == 1, Tone(s.upTo(3))
	for range s.upTo(3) {
		b.Parts = append(b.Parts, Part{s.float(), LookOf(s.upTo(99), false)})
	}
	return b
}

func (s *supply) series() Series {
	extent := func() Extent { return Extent{s.float(), s.float(), s.float()} }
	point := func() Point { return Point{X: extent(), Y: extent(), Apart: s.upTo(9) == 0} }
	return Series{Name: s.text(), Look: LookOf(s.upTo(99), false), Points: list(s, 6, point)}
}

// list returns up to n items.
func list[T any](s *supply, n int, item func() T) []T {
	all := make([]T, s.upTo(n+1))
	for i := range all {
		all[i] = item()
	}
	return all
}

// seeds are inputs with ordinary numbers and with numbers at the limits of floats.
func seeds(f *testing.F) {
	edges := []float64{0, 1, 20.5, -3, 1e-320, math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, 1e-300, 1e18}
	for first := range edges {
		input := []byte{3, 3}
		for i := range 40 {
			input = binary.BigEndian.AppendUint64(append(input, 2, 'a', 1), math.Float64bits(edges[(first+i)%len(edges)]))
		}
		f.Add(input)
		f.Add(append([]byte{1, 1, 1, 1}, input[3:60]...))
	}
	f.Add([]byte{})
}

func fuzz(f *testing.F, chart func(*supply) Chart) {
	seeds(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		const longest = 2 * time.Minute
		alarm := time.AfterFunc(longest, func() { panic(fmt.Sprintf("no chart after %v of %q", longest, input)) })
		defer alarm.Stop()
		c := chart(&supply{input})
		svg, err := c.Inline()
		iferr.Fatal(t, err)
		for part := range strings.SplitSeq(svg, "<") {
			if tag, _, _ := strings.Cut(part, ">"); !strings.HasPrefix(tag, "svg") && (strings.Contains(tag, "NaN") || strings.Contains(tag, "Inf")) {
				t.Errorf("a place is not a number: %s", tag)
			}
		}
		c.WithKeys([]Key{{"key", Look{}}}).alone("title").picture(0.1) // a larger one takes longer
	})
}

func FuzzBars(f *testing.F) {
	fuzz(f, func(s *supply) Chart { return Bars(list(s, 12, s.bar), s.text()) })
}

func FuzzSweep(f *testing.F) {
	fuzz(f, func(s *supply) Chart {
		series := list(s, 5, s.series)
		ticks := list(s, 6, func() Tick { return Tick{s.float(), s.text()} })
		return Sweep(series, Axis{Title: s.text(), Ticks: ticks, Log: s.upTo(2) == 1}, s.text())
	})
}

func FuzzLoad(f *testing.F) {
	fuzz(f, func(s *supply) Chart { return Load(list(s, 5, s.series), s.text(), s.text()) })
}

func FuzzPercentiles(f *testing.F) {
	fuzz(f, func(s *supply) Chart {
		return Percentiles(list(s, 4, func() Curve {
			h := hdrhistogram.NewPacked(1, 1e15, 1+s.upTo(3))
			for range s.upTo(8) {
				_ = h.RecordValues(int64(binary.BigEndian.Uint64(s.take(8))>>s.upTo(64)), int64(binary.BigEndian.Uint64(s.take(8))>>(8+s.upTo(56))))
			}
			return Curve{LookOf(s.upTo(99), s.upTo(2) == 1), h}
		}), s.text())
	})
}

func FuzzHeat(f *testing.F) {
	fuzz(f, func(s *supply) Chart {
		cell := func() HeatCell { return HeatCell{s.text(), s.float(), s.upTo(2) == 1} }
		return Heat(Matrix{
			RowTitle: s.text(), ColumnTitle: s.text(), Rows: list(s, 6, s.text), Columns: list(s, 120, s.text), Most: s.float(),
			Cells: list(s, 6, func() []HeatCell { return list(s, 9, cell) }),
		}, s.text())
	})
}

func FuzzClusters(f *testing.F) {
	fuzz(f, func(s *supply) Chart {
		return Clusters(list(s, 4, func() Cluster { return Cluster{s.text(), list(s, 5, s.bar)} }), s.float(), s.float(), s.text())
	})
}

func FuzzForest(f *testing.F) {
	fuzz(f, func(s *supply) Chart {
		return Forest(list(s, 8, s.bar), s.float(), s.text())
	})
}

func FuzzRounds(f *testing.F) {
	fuzz(f, func(s *supply) Chart {
		visits := func() []Visit {
			return list(s, 9, func() Visit { return Visit{int(binary.BigEndian.Uint64(s.take(8))), s.float()} })
		}
		return Rounds(list(s, 5, func() History {
			return History{Name: s.text(), Text: s.text(), Native: s.upTo(2) == 1, Points: visits(), Behind: visits()}
		}), s.float(), s.text())
	})
}
