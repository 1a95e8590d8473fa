package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"nettoll/record"
)

// aloneRounds is how many rounds a group has, and then each of its networks alone.
const aloneRounds = 4

func aloneQuick(ctx context.Context, w *work) error { return alone(ctx, w, "quick") }
func aloneFull(ctx context.Context, w *work) error  { return alone(ctx, w, "full") }

// alone measures the networks of a suite as it does, many standing at once, and each of them alone
// with its baseline, so many times four rounds of each, and judges whether what stands beside a
// network leaves its ratio alone.
func alone(ctx context.Context, w *work, suite string) error {
	s := newSides("alone", "among")
	var each []place
	w.total = w.size // until it is known how many networks there are
	for pass := range w.size {
		among, err := w.run(ctx, fmt.Sprintf("%s-among-%d", w.name, pass+1), aloneRun("--suite", suite)...)
		if err != nil {
			return err
		}
		s.add(1, among)
		if pass == 0 {
			each = places(among)
			w.total = w.size * (1 + len(each))
		}
		for _, p := range each {
			args := []string{p.network, "--hosts", strconv.Itoa(p.hosts)}
			for _, family := range p.families {
				args = append(args, fmt.Sprintf("-%d", family))
			}
			f, err := w.run(ctx, fmt.Sprintf("%s-%s-%d-%d", w.name, p.network, p.hosts, pass+1), aloneRun(args...)...)
			if err != nil {
				return err
			}
			s.add(0, f)
		}
	}
	s.show()
	return nil
}

// place is a network on so many hosts, that is no baseline and could be measured.
type place struct {
	network  string
	hosts    int
	families []int
}

func places(f *record.File) (all []place) {
	for _, t := range f.Trials {
		c := t.Cell
		if c.IsNative() || t.Status != record.OK {
			continue
		}
		i := slices.IndexFunc(all, func(p place) bool { return p.network == c.Network && p.hosts == c.Hosts })
		if i < 0 {
			i, all = len(all), append(all, place{network: c.Network, hosts: c.Hosts})
		}
		if !slices.Contains(all[i].families, c.Family) {
			all[i].families = append(all[i].families, c.Family)
		}
	}
	return all
}

// aloneRun are the arguments of a run of the two usual workloads.
func aloneRun(args ...string) []string {
	return slices.Concat(args, fixedRounds(aloneRounds), []string{"-t", "240ms", "--yes", "--workloads", record.TCPStream + "," + record.TCPRR})
}
