package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"nettoll/record"
)

// aloneRounds is how many rounds a group has, and then each of its networks alone.
const aloneRounds = "4"

func aloneQuick(ctx context.Context, j *judging) error { return alone(ctx, j, "quick") }
func aloneFull(ctx context.Context, j *judging) error  { return alone(ctx, j, "full") }

// alone measures the networks of a suite as it does, many standing at once, and each of them alone
// with its baseline, so many times four rounds of each, and judges whether what stands beside a
// network leaves its ratio alone.
func alone(ctx context.Context, j *judging, suite string) error {
	s := newSides("alone", "among")
	var each []place
	j.total = j.size // until it is known how many networks there are
	for pass := range j.size {
		among, err := j.run(ctx, fmt.Sprintf("%s-among-%d", j.name, pass+1), fixedRounds(aloneRounds, "--suite", suite, "-t", "240ms")...)
		if err != nil {
			return err
		}
		s.add(1, among)
		if pass == 0 {
			each = places(among)
			j.total = j.size * (1 + len(each))
		}
		for _, p := range each {
			args := append([]string{"-t", "240ms", p.network}, hostsOf(p.hosts)...)
			for _, family := range p.families {
				args = append(args, fmt.Sprintf("-%d", family))
			}
			f, err := j.run(ctx, fmt.Sprintf("%s-%s-%d-%d", j.name, p.network, p.hosts, pass+1), fixedRounds(aloneRounds, args...)...)
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

// fixedRounds are the arguments of a run of the two usual workloads that has so many rounds,
// whatever it finds.
func fixedRounds(rounds string, args ...string) []string {
	return append([]string{"--min-rounds", rounds, "--max-rounds", rounds, "--time-budget", "0", "--yes",
		"--workloads", record.TCPStream + "," + record.TCPRR}, args...)
}

func hostsOf(n int) []string { return []string{"--hosts", strconv.Itoa(n)} }
