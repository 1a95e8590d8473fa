package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
)

func TestBar(t *testing.T) {
	for _, c := range []struct {
		round       int
		spent, left time.Duration
		at, want    string
	}{
		{0, time.Second, 0, "idle", "round 1   ░░░░░░░░░░░░░░░░   0%                     idle"},
		{3, 10 * time.Second, 30 * time.Second, "vxlan", "round 3   ████░░░░░░░░░░░░  25%  at most 30s left   vxlan"},
		{3, 10 * time.Second, 1, "vxlan", "round 3   ███████████████░ 100%                     vxlan"},
		{40, time.Hour, 1234 * time.Millisecond, "vxlan", "round 40  ███████████████░ 100%  at most 1.2s left  vxlan"},
	} {
		if got := bar(c.round, c.spent, c.left, c.at); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// TestLeft checks that a run whose last round takes longer than was expected is not shown as if it had just begun.
func TestLeft(t *testing.T) { synctest.Test(t, left) } // by a clock that stands still

func left(t *testing.T) {
	p := &progress{set: record.Settings{Budget: 10}, began: time.Now().Add(-20 * time.Second), planned: 8}
	if left := p.left(); left != 0 {
		t.Errorf("%v are left of a run without trials", left)
	}
	p.trials = 4
	if left := p.left(); left != 1 {
		t.Errorf("%v are left after the time budget", left)
	}
	p.late = 15 * time.Second
	if left := p.left(); left <= time.Second || left > 5*time.Second {
		t.Errorf("%v are left of the time by which the budget may be exceeded", left)
	}
	p.set.Budget, p.trials = 0, 8
	if left := p.left(); left != 1 {
		t.Errorf("%v are left after the last trial", left)
	}
}

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 cells", 1: "1 cell", 2: "2 cells"} {
		if got := counted(n, "cell"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCut(t *testing.T) {
	line := bar(1, time.Second, time.Second, "macvlan, 2 hosts, tcp_stream")
	for _, columns := range []int{0, 1, 10, 39, 79, 500} {
		if n := utf8.RuneCountInString(cut(line, columns)); n > columns {
			t.Errorf("%d columns are %d", columns, n)
		}
	}
	if cut(line, -1) != line {
		t.Error("a terminal of unknown width must show the whole line")
	}
}

// TestForecast checks that a run reports what the wanted precision takes: as much as its least precise cell needs,
// at the pace of its own rounds.
func TestForecast(t *testing.T) { synctest.Test(t, forecast) } // by a clock that stands still

func forecast(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out, set: record.Settings{Precision: 0.05, MaxRounds: 40}, began: time.Now().Add(-20 * time.Second)}
	p.Round(7, 4)
	p.Reached(map[string]analysis.Reached{"a": {N: 7, Narrow: true}, "b": {N: 8, Rounds: 10}, "c": {N: 7, Rounds: 20}})
	p.Round(11, 4)
	p.Reached(map[string]analysis.Reached{"a": {N: 20, Narrow: true}})
	p.Round(12, 4)
	p.Reached(map[string]analysis.Reached{"a": {N: 12, Rounds: 100_000}})
	p.Round(13, 4)
	want := "round 7: 4 trials, 20s since the start\n" +
		"round 11: 4 trials, 20s since the start; ±5% takes about 13 more rounds, 1m5s\n" +
		"round 12: 4 trials, 20s since the start\n" +
		"round 13: 4 trials, 20s since the start; ±5% takes more than 10000 more rounds\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	p.Begin([]record.Cell{{Network: "host", Hosts: 1, Workload: record.TCPRR}})
	if p.at != "host, 1 host, tcp_rr" {
		t.Error(p.at)
	}
	p.Begin([]record.Cell{{Network: "host", Hosts: 1, Workload: record.TCPRR}, {Network: "bridge", Hosts: 1, Workload: record.TCPRR}})
	if p.at != "2 networks in turns, 1 host, tcp_rr" {
		t.Error(p.at)
	}
}

// TestTooFewRounds checks that the rounds that a run has already count for its verdicts.
func TestTooFewRounds(t *testing.T) {
	set := record.Settings{MaxRounds: 40}
	bounded := plan.Forecast{Comparisons: 40, Verdict: 11, MaxRounds: 5, Bounded: true, Round: time.Minute}
	limited := plan.Forecast{Comparisons: 40, Verdict: 11, MaxRounds: 2, Round: time.Minute}
	const so, advice = ", too few for a verdict among 40 comparisons, which takes 11: differences will be shown, and none can be claimed; give ", ", or make fewer comparisons"
	for _, c := range []struct {
		rest plan.Forecast
		most int
		done int
		want string
	}{
		{bounded, 40, 0, "there is time for about 5 rounds" + so + "--time-budget 13m" + advice},
		{bounded, 40, 4, "there is time for about 5 more rounds" + so + "--time-budget 8m" + advice},
		{bounded, 40, 6, ""},
		{limited, 10, 8, "the limit is 10 rounds" + so + "--max-rounds 11" + advice},
		{limited, 11, 9, ""},
	} {
		set.MaxRounds = c.most
		if got := short(c.rest, set, c.done); got != c.want {
			t.Errorf("after %d rounds:\ngot  %q\nwant %q", c.done, got, c.want)
		}
	}
}

func TestLasting(t *testing.T) {
	for _, tt := range []struct {
		least, most  int
		rounds, time string
	}{{6, 40, "6 to 40 rounds", "6s to 40s"}, {20, 20, "20 rounds", "20s"}, {1, 1, "1 round", "1s"}} {
		e := plan.Forecast{MinRounds: tt.least, MaxRounds: tt.most, Min: time.Duration(tt.least) * time.Second, Max: time.Duration(tt.most) * time.Second}
		if rounds, time := lasting(e); rounds != tt.rounds || time != tt.time {
			t.Errorf("%q, %q, want %q, %q", rounds, time, tt.rounds, tt.time)
		}
	}
}
