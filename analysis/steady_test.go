package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nettoll/record"
)

func rising(n int, by func(i int) float64) []Point {
	out := make([]Point, n)
	for i := range out {
		out[i] = Point{i + 1, by(i)}
	}
	return out
}

func TestTrendP(t *testing.T) {
	for _, tt := range []struct {
		name   string
		points []Point
		want   float64
	}{
		{"one", rising(1, func(int) float64 { return 1 }), 1},
		{"constant", rising(9, func(int) float64 { return 1 }), 1},
		{"rises", rising(6, func(i int) float64 { return float64(i) }), 2.0 / 720},
		{"falls", rising(6, func(i int) float64 { return float64(-i) }), 2.0 / 720},
		// S = 4 of 6: one inversion, probability 4/24, doubled.
		{"one step back", []Point{{1, 1}, {2, 3}, {3, 2}, {4, 4}}, 8.0 / 24},
		// Variance with ties (10·9·25 − 5·2·1·9)/18 = 120, S = 40.
		{"ties", rising(10, func(i int) float64 { return float64(i / 2) }), math.Erfc(39 / math.Sqrt(120) / math.Sqrt2)},
	} {
		if got := trendP(tt.points); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: p is %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTrendApproximation(t *testing.T) {
	for _, s := range []int{105, 135, 165} {
		pairs := exactTrend * (exactTrend - 1) / 2
		exact := 2 * inversionsAtMost(exactTrend, (pairs-s)/2)
		n := float64(exactTrend)
		normal := math.Erfc(float64(s-1) / math.Sqrt(n*(n-1)*(2*n+5)/18) / math.Sqrt2)
		if math.Abs(exact-normal) > 0.001 {
			t.Errorf("S=%d: exact %v, normal %v", s, exact, normal)
		}
	}
}

func TestTrendChange(t *testing.T) {
	fall := rising(11, func(i int) float64 { return 100 - 2*float64(i) })
	fall[5].Value = 900
	// From 100 to 80, whatever the outlier, along a line through the logarithms.
	if got := trendChange(fall); math.Abs(got+0.2) > 0.01 {
		t.Errorf("change %v", got)
	}
	// From 100 to 3: a straight line over the median would give −187 %.
	steep := rising(8, func(i int) float64 { return 100 * math.Pow(0.6, float64(i)) })
	if got := trendChange(steep); math.Abs(got-(math.Pow(0.6, 7)-1)) > 1e-9 {
		t.Errorf("change %v, want %v", got, math.Pow(0.6, 7)-1)
	}
	if got := trendChange(rising(4, func(int) float64 { return 0 })); got != 0 {
		t.Errorf("change of zeros is %v", got)
	}
	// Of a long series, points are left out.
	if got := trendChange(rising(5001, func(i int) float64 { return math.Exp(float64(i) / 5000) })); math.Abs(got-math.Expm1(1)) > 1e-9 {
		t.Errorf("change %v, want %v", got, math.Expm1(1))
	}
}

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

// TestExactOrders compares with counting the orders one by one.
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

// TestAutocorrelationLevel checks that random orders are doubted as rarely
// as promised, and series that keep most of their last value often.
func TestAutocorrelationLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const series = 20_000
	for _, c := range []struct {
		n           int
		keeps       float64
		least, most float64 // share of series doubted
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

// TestRoundsThatAreAlikeAreDoubted has a bridge whose ratio to host wanders, and one whose ratio does not.
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
	for i := range trials { // native itself wanders
		if trials[i].Cell.Network == "host" {
			trials[i].Metrics = map[string]record.Metric{record.Throughput: {Value: 10e9 * (1 + 0.3*math.Sin(float64(trials[i].Round)/2.5)), Unit: "bit/s"}}
		}
	}
	warningOf(t, rowOf(t, Analyze(fileOf(trials...)), "host").Warnings, WarnAlike)
}

// window returns the parts of a stationary window of noisy, bursty traffic:
// disturbances last longer than the window, and bytes arrive in few large lumps.
func window(random *rand.Rand, sd float64) (parts []uint64) {
	noise := sd * random.NormFloat64()
	const keeps = 0.95 // from a part of 20 ms to the next, for noise that lasts 0.4 s
	for range 10 {
		noise = keeps*noise + math.Sqrt(1-keeps*keeps)*sd*random.NormFloat64()
		lumps := 0
		for at := random.ExpFloat64(); at < 6*math.Exp(noise); at += random.ExpFloat64() {
			lumps++
		}
		parts = append(parts, uint64(lumps)*65_483)
	}
	return parts
}

func courses(rounds int, parts func() []uint64) (trials []record.Trial) {
	for i := range rounds {
		t := throughputTrial(streamCell("host"), i+1, 1e9)
		t.Course = &record.Course{Bytes: parts()}
		trials = append(trials, t)
	}
	return trials
}

// TestStationaryWindowsAreNotDoubted checks the level of the test.
func TestStationaryWindowsAreNotDoubted(t *testing.T) {
	k, _ := record.KindOf(record.Throughput)
	random := rand.New(rand.NewPCG(5, 6))
	const runs = 4000
	for _, c := range []struct {
		rounds int
		sd     float64
	}{{6, 0.3}, {7, 0.1}, {7, 0.5}, {10, 0.5}, {20, 0.5}, {40, 1}} {
		doubted := 0
		for range runs {
			if len(unstationary(k, each(courses(c.rounds, func() []uint64 { return window(random, c.sd) })))) > 0 {
				doubted++
			}
		}
		if share := float64(doubted) / runs; share > courseLevel+3*math.Sqrt(courseLevel/runs) {
			t.Errorf("%d rounds with noise of %v: %v doubted, at most %v were promised", c.rounds, c.sd, share, courseLevel)
		}
	}
}

// TestWindowsThatRiseAreDoubted has the start of a connection in the window.
func TestWindowsThatRiseAreDoubted(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	rising := func() []uint64 {
		parts := window(random, 0.05)
		for i := range parts {
			parts[i] = uint64(float64(parts[i]) * min(1, 0.1*math.Pow(1.5, float64(i))))
		}
		return parts
	}
	trials := courses(8, rising)
	for i := range trials {
		trials[i].Warnings = []record.Warning{{Code: record.WarnCold, Text: "1 of 1 flows had received nothing when the window opened"}}
	}
	all := rowOf(t, Analyze(fileOf(trials...)), "host").Warnings
	w := warningOf(t, all, WarnUnstationary)
	if !strings.Contains(w.Text, "more than the first (8 rounds") || !strings.Contains(w.Advice, "--warmup") {
		t.Errorf("warning is %+v", w)
	}
	if slices.Contains(codes(all), record.WarnCold) {
		t.Error("the same is doubted twice")
	}
	turned := fileOf(slices.Clone(trials)...)
	for i := range turned.Trials {
		turned.Trials[i].Slices = []record.Slice{{Window: 0.1}}
	}
	if w := warningOf(t, rowOf(t, Analyze(turned), "host").Warnings, WarnUnstationary); !strings.Contains(w.Advice, "--turns=false") {
		t.Errorf("in turns, which have a fixed length, the advice is %q", w.Advice)
	}
	falling := courses(8, func() []uint64 { p := rising(); slices.Reverse(p); return p })
	w = warningOf(t, rowOf(t, Analyze(fileOf(falling...)), "host").Warnings, WarnUnstationary)
	if !strings.Contains(w.Text, "less than the first") {
		t.Errorf("warning is %+v", w)
	}
	k, _ := record.KindOf(record.Throughput)
	for want, halves := range map[string][]uint64{
		"the second half of the window had 100% more than the first": {10, 20}, "the second half of the window had 25% less than the first": {40, 30},
		"the second half of the window had 100% less than the first": {10, 0}, "the first half of the window had nothing": {0, 10},
		"the second half of the window had 15% more than the first": {100, 115}, "the second half of the window had 30% more than the first": {40, 7, 52},
	} {
		doubts := unstationary(k, each(courses(8, func() []uint64 { return halves })))
		if len(doubts) != 1 || !strings.HasPrefix(doubts[0].Text, want+" (8 rounds") {
			t.Errorf("%v: %+v, want %s", halves, doubts, want)
		}
	}
	parts := courses(10, rising) // of five rounds
	for i := range parts {
		parts[i].Round, parts[i].Part = 1+i/2, 1+i%2
	}
	if all := unstationary(k, each(parts)); len(all) > 0 {
		t.Errorf("two parts of five rounds count as ten: %v", all)
	}
	// Too few rounds, and changes too small to matter.
	slight := func() []uint64 { return []uint64{100, 100, 100, 100, 100, 104, 104, 104, 104, 104} }
	if all := append(unstationary(k, each(courses(5, rising))), unstationary(k, each(courses(30, slight)))...); len(all) > 0 {
		t.Errorf("warnings %v", all)
	}
}

func TestCourseOfWhatIsMeasured(t *testing.T) {
	trial := record.Trial{Course: &record.Course{Bytes: []uint64{1, 2}, Transactions: []float64{3.5, 4.5}}}
	for name, want := range map[string][]float64{
		record.Throughput: {1, 2}, record.PacketRate: {1, 2}, record.LatencyP50: {3.5, 4.5}, record.TransactionRate: {3.5, 4.5},
	} {
		k, _ := record.KindOf(name)
		if got := courseOf(k, &trial); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	k, _ := record.KindOf(record.Throughput)
	if courseOf(k, &record.Trial{}) != nil || len(unstationary(k, []*record.Trial{{Course: &record.Course{Bytes: make([]uint64, 10)}}, {}})) > 0 {
		t.Error("nothing is not stationary")
	}
}
