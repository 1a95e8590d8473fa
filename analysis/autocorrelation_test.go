package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"nettoll/record"
)

// permute calls f with all orders of 1 … n.
func permute(n int, f func([]float64)) {
	order := plainRanks(n)
	var from func(int)
	from = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			from(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	from(0)
}

// TestExactOrders counts the orders one by one.
func TestExactOrders(t *testing.T) {
	for _, n := range []int{3, 4, 6, 7} {
		sums := map[int]int{}
		all := 0
		permute(n, func(r []float64) {
			s := 0.0
			for i := range n - 1 {
				s += (r[i+1] - r[i]) * (r[i+1] - r[i])
			}
			sums[int(s)]++
			all++
		})
		for most := 0; most < n*n*n; most++ {
			want := 0
			for s, c := range sums {
				if s <= most {
					want += c
				}
			}
			if got := ordersAtMost(n, most); math.Abs(got-float64(want)/float64(all)) > 1e-12 {
				t.Fatalf("n=%d: %v of all orders have at most %d, want %d of %d", n, got, most, want, all)
			}
		}
	}
}

// TestAutocorrelationLevel holds that random orders are doubted as seldom as promised, and
// series that keep most of their last value often.
func TestAutocorrelationLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const series = 20_000
	for _, c := range []struct {
		n           int
		keeps       float64
		least, most float64 // share that is doubted
	}{
		{6, 0, 0, 0.0105}, {7, 0, 0, 0.0105}, {10, 0, 0.005, 0.0115}, {11, 0, 0.006, 0.0125}, {20, 0, 0.007, 0.0125}, {40, 0, 0.007, 0.0125},
		{20, 0.7, 0.6, 1}, {40, 0.7, 0.95, 1}, {40, 0.4, 0.4, 1},
	} {
		doubted, found := 0, map[string]float64{}
		runs := series
		if c.n <= exactRanks {
			runs = 4000
		}
		for range runs {
			values, last := make([]float64, c.n), random.NormFloat64()
			for i := range values {
				last = c.keeps*last + math.Sqrt(1-c.keeps*c.keeps)*random.NormFloat64()
				values[i] = last
			}
			p, known := found[rankKey(values)]
			if !known {
				p = autocorrelationP(values)
				if c.n <= 7 {
					found[rankKey(values)] = p
				}
			}
			if p < autocorrelationLevel {
				doubted++
			}
		}
		if share := float64(doubted) / float64(runs); share < c.least || share > c.most+3*math.Sqrt(0.01/float64(runs)) {
			t.Errorf("%d rounds that keep %v: %v doubted, want %v to %v", c.n, c.keeps, share, c.least, c.most)
		}
	}
}

func rankKey(values []float64) string {
	b := make([]byte, 0, len(values))
	for _, r := range midRanksOf(values) {
		b = append(b, byte(2*r))
	}
	return string(b)
}

func TestAutocorrelationOfTies(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {1, 2}, {5, 5, 5, 5, 5, 5, 5}} {
		if p := autocorrelationP(values); p != 1 {
			t.Errorf("%v: p is %v", values, p)
		}
	}
	if got := midRanksOf([]float64{3, 1, 3, 2}); !slices.Equal(got, []float64{3.5, 1, 3.5, 2}) {
		t.Errorf("ranks %v", got)
	}
	if p := autocorrelationP([]float64{1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3}); p > 0.001 {
		t.Errorf("three steps: p is %v", p)
	}
}

// TestRoundsThatAreAlikeAreDoubted has a bridge whose ratio to host wanders, and one whose
// does not.
func TestRoundsThatAreAlikeAreDoubted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var trials []record.Trial
	wanders := 0.0
	for i := 1; i <= 30; i++ {
		wanders = 0.9*wanders + 0.1*random.NormFloat64()
		trials = append(trials,
			throughputTrial(streamCell("host"), i, 10e9*math.Exp(0.1*random.NormFloat64())),
			throughputTrial(streamCell("bridge"), i, 8e9*math.Exp(wanders)),
			throughputTrial(streamCell("veth"), i, 8e9*math.Exp(0.1*random.NormFloat64())))
	}
	res := Analyze(fileOf(trials...))
	warningOf(t, rowOf(t, res, "bridge").Warnings, WarnAlike)
	for _, network := range []string{"host", "veth"} {
		if all := codes(rowOf(t, res, network).Warnings); slices.Contains(all, WarnAlike) {
			t.Errorf("%s has %v", network, all)
		}
	}
	for i := range trials { // native itself, to and fro
		if trials[i].Cell.Network == "host" {
			trials[i].Metrics = map[string]record.Metric{record.Throughput: {Value: 10e9 * (1 + 0.3*math.Sin(float64(trials[i].Round)/2.5)), Unit: "bit/s"}}
		}
	}
	warningOf(t, rowOf(t, Analyze(fileOf(trials...)), "host").Warnings, WarnAlike)
}
