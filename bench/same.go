package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"nettoll/analysis"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// ratios are ratios of pairs that were measured one right after the other.
type ratios []float64

func (r ratios) median() float64 {
	s := slices.Sorted(slices.Values(r))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// geometric returns the geometric mean.
func (r ratios) geometric() float64 { return stat.GeometricMean(r, nil) }

// show prints a ratio and whether it meets the aim.
func (r ratios) show(what string, atLeast bool, aim float64) {
	m := r.median()
	word, met := "at most", m <= aim
	if atLeast {
		word, met = "at least", m >= aim
	}
	fmt.Printf("%-46s %6.2f  (%.2f to %.2f, n=%d)  aim %s %.2f: %s\n",
		what, m, slices.Min(r), slices.Max(r), len(r), word, aim, verdict(met, ""))
}

// verdict returns whether an aim was met, with a description of the miss if there is one.
func verdict(met bool, missed string) string {
	switch {
	case met:
		return "met"
	case missed == "":
		return "MISSED"
	}
	return "MISSED (" + missed + ")"
}

// findings counts the runs that called different networks different, and those of them whose interval contains the
// true size.
type findings struct{ different, held int }

func (f *findings) add(c *analysis.Comparison, truth float64) {
	if c.Verdict != analysis.Different {
		return
	}
	f.different++
	if c.Low <= truth && truth <= c.High {
		f.held++
	}
}

// show judges whether at least nine of ten runs found it.
func (f findings) show(different, held string, runs int) {
	nineOfTen := func(what string, did int) {
		fmt.Printf("%-46s %d of %d  aim at least 9 of 10: %s\n", what, did, runs, verdict(10*did >= 9*runs, "too few"))
	}
	nineOfTen(different, f.different)
	nineOfTen("the same, with "+held+" in the interval", f.held)
}

// partOf returns a run file with only some of its cells, and only some of their trials.
func partOf(f *record.File, cell func(record.Cell) bool, trial func(record.Trial) bool) *record.File {
	part := *f
	part.Run.Cells = record.Those(f.Run.Cells, cell)
	part.Trials = record.Those(f.Trials, func(t record.Trial) bool { return cell(t.Cell) && trial(t) })
	return &part
}

// compared is a network in one metric, compared with the baseline of the same number of hosts.
type compared struct {
	network       string
	hosts, family int
	workload      string
	metric        string
}

func (c compared) String() string {
	hosts := "1 host"
	if c.hosts > 1 {
		hosts = fmt.Sprintf("%d hosts", c.hosts)
	}
	return fmt.Sprintf("%s, %s, IPv%d, %s", c.network, hosts, c.family, c.metric)
}

// ratiosOf returns the ratios to the baseline in a run file, one per round, of the primary metric. Networks that were
// tried and have no ratio are included, with an empty list.
func ratiosOf(f *record.File) map[compared]ratios {
	type place struct {
		cell        record.Cell
		round, part int
	}
	value := func(t record.Trial) (v float64, ok bool) {
		v = t.Metrics[record.Primary(t.Cell.Workload)[0]].Value
		return v, t.Status == record.OK && v > 0
	}
	baselines := map[place]float64{}
	for _, t := range f.Trials {
		if v, ok := value(t); ok && t.Cell.IsNative() {
			baselines[place{t.Cell, t.Round, t.Part}] = v
		}
	}
	all := map[compared]ratios{}
	for _, t := range f.Trials {
		c := t.Cell
		if c.IsNative() || t.Status == record.Skipped {
			continue
		}
		at := compared{c.Network, c.Hosts, c.Family, c.Workload, record.Primary(c.Workload)[0]}
		of := all[at]
		base, compares := baselines[place{c.Against(), t.Round, t.Part}]
		if v, ok := value(t); ok && compares {
			of = append(of, v/base)
		}
		all[at] = of // even without a ratio, so that the network is not lost
	}
	return all
}

// sides are two ways to measure the same networks.
type sides struct {
	names [2]string
	of    [2]map[compared]ratios
}

func newSides(one, other string) *sides {
	return &sides{[2]string{one, other}, [2]map[compared]ratios{{}, {}}}
}

func (s *sides) add(side int, f *record.File) {
	for at, r := range ratiosOf(f) {
		s.of[side][at] = append(s.of[side][at], r...)
	}
}

// sameWithin is the largest difference of ratios that count as the same.
const sameWithin = 0.05

// show judges by two one-sided tests at 5 % whether both sides have the same ratios within sameWithin: they do if
// the interval at 90 % lies within it. Schuirmann, A comparison of the two one-sided tests procedure and the power
// approach for assessing the equivalence of average bioavailability, J. Pharmacokinet. Biopharm. 15 (1987). The
// tests use signed ranks of the differences of logarithms between corresponding rounds of the two sides: on shared
// machines, trials have long tails that a mean would follow. If one side has more rounds, these are combined.
func (s *sides) show() {
	met := 0
	cells := slices.SortedFunc(maps.Keys(s.of[0]), func(a, b compared) int {
		return slices.Compare([]string{a.metric, fmt.Sprint(a.hosts, a.family), a.network}, []string{b.metric, fmt.Sprint(b.hosts, b.family), b.network})
	})
	for _, at := range cells {
		n := min(len(s.of[0][at]), len(s.of[1][at]))
		one, other := inParts(s.of[0][at], n), inParts(s.of[1][at], n)
		c := analysis.Paired(one, other, 0.90, sameWithin)
		if c == nil || c.Level == 0 {
			fmt.Printf("%-44s n=%d: %s\n", at, n, verdict(false, "not known: too few rounds"))
			continue
		}
		if c.Outcome == analysis.Same {
			met++
		}
		fmt.Printf("%-44s %s %.3f, %s %.3f: ÷ %.3f  (90 %%: %.3f to %.3f, n=%d)  aim within %.2f of 1: %s\n",
			at, s.names[0], one.geometric(), s.names[1], other.geometric(), c.Value, c.Low, c.High, n, sameWithin,
			verdict(c.Outcome == analysis.Same, map[bool]string{true: "different", false: "not known"}[c.Outcome == analysis.Different]))
	}
	fmt.Printf("%s ÷ %s: %d of %d the same within %.0f %%: %s\n", s.names[0], s.names[1], met, len(cells), 100*sameWithin,
		verdict(met == len(cells) && met > 0, "not all"))
}

// inParts splits values, in their order, into n parts of nearly the same length and returns the geometric mean of
// each.
func inParts(values ratios, n int) (means ratios) {
	for i := range n {
		means = append(means, values[i*len(values)/n:(i+1)*len(values)/n].geometric())
	}
	return means
}

// roundsAtOnce is how many rounds a run file of equivalence has.
const roundsAtOnce = 6

// equivalence measures networks in turns and by whole trials of a second, in the same rounds. It does so in w.size
// run files of six rounds, and judges whether the ratios are the same. Differences between rounds, and changes of
// the machine that last longer than a round, affect both ways alike.
func equivalence(ctx context.Context, w *work) error {
	s := newSides("turns", "whole")
	groups := []known{
		{hosts: 1, names: []string{"host", "bridge", "veth", "macvlan"}, how: []network.Driver{kernel.Host(), kernel.Bridge(), kernel.Veth(), kernel.Macvlan()}},
		{hosts: 2, names: []string{"native", "vxlan"}, how: []network.Driver{kernel.Native(), kernel.VXLAN()}},
	}
	w.total = w.size * len(groups)
	for pass := range w.size {
		for _, k := range groups {
			k.workloads, k.tools = []string{record.TCPStream, record.TCPRR}, []workload.Tool{engine.New(), whole()}
			k.turns, k.rounds, k.duration = true, roundsAtOnce, inTurns
			f, err := w.measured(ctx, fmt.Sprintf("equivalence-%s-%d", k.names[1], pass+1), k)
			if err != nil {
				return err
			}
			for side, tool := range []string{"engine", whole().Name} {
				of := func(c record.Cell) bool { return c.Tool == tool }
				s.add(side, partOf(f, of, func(record.Trial) bool { return true }))
			}
		}
	}
	s.show()
	return nil
}

// inTurns is the length of all slices of a network in a round together.
const inTurns = 240 * time.Millisecond

// warmUp is the warm-up of whole trials. Over some networks, the throughput of a new connection goes on rising for as
// long, while those that take turns are older by the time they count.
const warmUp = time.Second

// whole returns the engine with trials of a second each, and no turns.
func whole() workload.Tool {
	tool := engine.New()
	run := tool.Run
	tool.Name = "whole"
	for i := range tool.Drives {
		tool.Drives[i].Turns = false
	}
	tool.Run = func(ctx context.Context, job workload.Job) (workload.Result, error) {
		job.Warmup, job.Duration = warmUp, time.Second
		return run(ctx, job)
	}
	return tool
}

func aloneQuick(ctx context.Context, w *work) error {
	s := newSides("alone", "among")
	w.total = 2 * w.size
	if err := w.alone(ctx, s, w.name, append(fixedRounds(4), "--suite", "quick")); err != nil {
		return err
	}
	s.show()
	return nil
}

// aloneFull has few rounds of long trials: half of a round of the full suite goes to starting daemons. Streams are
// measured with client and server on one CPU, and with socket buffers of a fixed size, since throughput on two CPUs varies
// by a tenth from one build of a network to the next, whatever else stands, and on one by a few hundredths (docs/measured).
func aloneFull(ctx context.Context, w *work) error {
	s := newSides("alone", "among")
	w.total = 4 * w.size
	suite := append(fixedRounds(1), "--suite", "full")
	rr := slices.Concat(suite, []string{"--workloads", record.TCPRR, "-t", "1500ms"})
	stream := slices.Concat(suite, []string{"--workloads", record.TCPStream, "-t", "800ms", "-w", "128K", "--placement", record.PlacementSame})
	if err := w.alone(ctx, s, w.name+"-stream", stream); err != nil {
		return err
	}
	if err := w.alone(ctx, s, w.name+"-rr", rr); err != nil {
		return err
	}
	s.show()
	return nil
}

// alone measures the networks of a suite as the suite does, many standing at once, and then with each standing alone
// with its baseline, w.size times, and adds the results to the sides alone and among: do the networks that stand at the
// same time leave a network's ratio unchanged? Networks that the suite measures alone, too, are left out. What stands
// does not depend on the IP version, so IPv4 is enough.
func (w *work) alone(ctx context.Context, s *sides, name string, args []string) error {
	var names []string
	for pass := range w.size {
		for i := range 2 {
			side := (i + pass + 1) % 2 // either comes first as often; the first run shows which networks stand among others
			all := slices.Concat([]string{"-4", "--yes", "--together", []string{"1", "0"}[side]}, args, names)
			f, err := w.run(ctx, fmt.Sprintf("%s-%s-%d", name, s.names[side], pass+1), all...)
			if err != nil {
				return err
			}
			if names == nil {
				names = takingTurns(f)
			}
			s.add(side, partOf(f, func(c record.Cell) bool { return slices.Contains(names, c.Network) || c.IsNative() }, func(record.Trial) bool { return true }))
		}
	}
	return nil
}

// takingTurns returns the networks of a run that took turns with others than their baseline, or failed.
func takingTurns(f *record.File) []string {
	type group struct{ round, hosts, part int } // parts have other networks in each round
	in := map[group][]string{}
	for _, t := range f.Trials {
		if at := (group{t.Round, t.Cell.Hosts, t.Part}); !t.Cell.IsNative() && !slices.Contains(in[at], t.Cell.Network) {
			in[at] = append(in[at], t.Cell.Network)
		}
	}
	such := record.Those(f.Trials, func(t record.Trial) bool {
		whole := t.Status == record.OK && len(t.Slices) == 0
		beside := len(in[group{t.Round, t.Cell.Hosts, t.Part}]) > 1
		return !t.Cell.IsNative() && t.Status != record.Skipped && !whole && beside
	})
	return record.Distinct(such, func(t record.Trial) string { return t.Cell.Network })
}
