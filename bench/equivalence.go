package main

import (
	"context"
	"fmt"
	"strconv"

	"nettoll/record"
)

// roundsAtOnce is how many rounds one way of measuring has until it is the other's turn, so
// that what the machine does in an hour hits both.
const roundsAtOnce = "6"

// equivalence measures the same networks in turns and by whole trials of a second, so many times
// six rounds of each, and judges whether their ratios are the same.
func equivalence(ctx context.Context, j *judging) error {
	s := newSides("turns", "whole")
	groups := [][]string{{"bridge", "veth", "macvlan", "--hosts", "1"}, {"vxlan", "--hosts", "2"}}
	j.total = j.size * len(groups) * 2
	for pass := range j.size {
		for _, group := range groups {
			for k := range 2 {
				side := (pass + k) % 2
				name := fmt.Sprintf("equivalence-%s-%s-%d", group[0], s.names[side], pass+1)
				args := append([]string{"-t", "240ms"}, group...)
				if side == 1 {
					args = append([]string{"-t", "1s", "--turns=false"}, group...)
				}
				f, err := j.run(ctx, name, fixedRounds(roundsAtOnce, args...)...)
				if err != nil {
					return err
				}
				s.add(side, f)
			}
		}
	}
	s.show()
	return nil
}

// fixedRounds are the arguments of a run of the two usual workloads that has so many rounds,
// whatever it finds.
func fixedRounds(rounds string, args ...string) []string {
	return append([]string{"--min-rounds", rounds, "--max-rounds", rounds, "--time-budget", "0", "--yes",
		"--workloads", record.TCPStream + "," + record.TCPRR}, args...)
}

func hostsOf(n int) []string { return []string{"--hosts", strconv.Itoa(n)} }
