package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
)

// progress shows the progress of a run: one line that changes on a terminal, and one line per round elsewhere.
type progress struct {
	w     io.Writer
	width func() int // of the terminal; nil elsewhere
	set   record.Settings
	late  time.Duration // by how much the time budget may be exceeded
	began time.Time
	quit  chan struct{}
	ended sync.WaitGroup

	mu      sync.Mutex
	first   int // round of this process: a resumed run has had others
	round   int
	trials  int
	planned int // trials, as far as is known now
	at      string
	more    int             // rounds that the wanted precision takes beyond those that are done; 0: unknown
	told    map[string]bool // skips that have been reported
}

// progress returns one for a run that has done some rounds already; f is about those that follow. late is by how much the time budget
// may be exceeded. The run file is named at the beginning, since a run that is killed cannot name it.
func (a *app) progress(ctx context.Context, path string, f plan.Forecast, set record.Settings, done int, late time.Duration) *progress {
	p := &progress{
		w: a.stderr, set: set, late: late, began: time.Now(), quit: make(chan struct{}),
		planned: max(1, f.MaxRounds*f.Cells), at: "watching the idle machine",
		told: map[string]bool{},
	}
	most := fmt.Sprintf("at most about %s", rough(f.Max))
	if late > 0 {
		most += fmt.Sprintf(", and up to %s more if a busy machine leaves too few rounds for a verdict", rough(late))
	}
	fmt.Fprintf(a.stderr, "%s, %s, %s; trials are saved in %s; ctrl-C ends the run with a report\n",
		counted(f.Visits, "network"), counted(f.Cells, "cell"), most, path)
	for _, text := range []string{costly(f), short(f, set, done)} {
		if text != "" {
			fmt.Fprintf(a.stderr, "note: %s\n", text)
		}
	}
	if a.watched {
		p.width = a.errWidth
		p.ended.Go(func() { p.show(ctx) })
	}
	return p
}

// redraw is the interval between updates of the line.
const redraw = 200 * time.Millisecond

// show keeps the line up to date until done.
func (p *progress) show(ctx context.Context) {
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	interrupted := ctx.Done()
	for {
		p.mu.Lock()
		line := bar(p.round, time.Since(p.began), p.left(), p.at)
		if p.more > 0 {
			line += "; " + p.needed()
		}
		p.mu.Unlock()
		if interrupted == nil {
			line = "interrupted; a report of the finished trials follows"
		}
		fmt.Fprint(p.w, clearLine+cut(line, p.width()-1))
		select {
		case <-p.quit:
			fmt.Fprint(p.w, clearLine)
			return
		case <-interrupted:
			interrupted = nil
		case <-tick.C:
		}
	}
}

// clearLine clears the terminal's current line.
const clearLine = "\r\x1b[K"

// left returns how long the run can still take, at the pace of its trials so far. It is 0 only while nothing is known.
func (p *progress) left() time.Duration {
	spent := time.Since(p.began)
	if p.trials == 0 {
		return 0
	}
	left := time.Duration(float64(spent) / float64(p.trials) * float64(max(0, p.planned-p.trials)))
	if budget := time.Duration(p.set.Budget * float64(time.Second)); budget > 0 {
		if spent > budget {
			budget += p.late
		}
		left = min(left, max(0, budget-spent))
	}
	return max(left, 1)
}

// bar returns the line, with the parts that change least first.
func bar(round int, spent, left time.Duration, at string) string {
	const cells = 16
	share, rest := 0.0, ""
	if left > 0 {
		share = spent.Seconds() / (spent + left).Seconds()
		if some := rough(left); some > 0 {
			rest = fmt.Sprintf("at most %s left", some)
		}
	}
	full := int(share * cells)
	return fmt.Sprintf("round %-3d %s%s %3.0f%%  %-18s %s",
		max(1, round), strings.Repeat("█", full), strings.Repeat("░", cells-full), 100*share, rest, at)
}

// cut shortens a line to the given number of columns, unless that is negative; the rest would stay on the screen.
func cut(line string, columns int) string {
	if r := []rune(line); columns >= 0 && len(r) > columns {
		return string(r[:columns])
	}
	return line
}

// Round implements runner.Watch.
func (p *progress) Round(round, trials int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.round = round
	p.first = cmp.Or(p.first, round)
	p.planned = p.trials + max(1, p.set.MaxRounds-round+1)*trials
	if p.width == nil {
		line := fmt.Sprintf("round %d: %s, %s since the start", round, counted(trials, "trial"), time.Since(p.began).Round(time.Second))
		if p.more > 0 {
			line += "; " + p.needed()
		}
		fmt.Fprintln(p.w, line)
	}
}

// Reached records how precisely each cell is known so far, by its key.
func (p *progress) Reached(cells map[string]analysis.Reached) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.more = 0
	for _, r := range cells {
		p.more = max(p.more, r.Rounds-r.N)
	}
}

// needed describes what the wanted precision takes: rounds, and time, at the pace of the rounds so far.
func (p *progress) needed() string {
	if p.more > analysis.MostRounds { // forecasts end somewhere beyond
		return fmt.Sprintf("±%s takes more than %d more rounds", analysis.Percent(p.set.Precision), analysis.MostRounds)
	}
	text := fmt.Sprintf("±%s takes about %s", analysis.Percent(p.set.Precision), counted(p.more, "more round"))
	if done := p.round - p.first; done > 0 {
		text += fmt.Sprintf(", %s", rough(time.Duration(p.more)*time.Since(p.began)/time.Duration(done)))
	}
	return text
}

// Begin implements runner.Watch.
func (p *progress) Begin(cells []record.Cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := cells[0]
	what := c.Network
	if len(cells) > 1 {
		what = fmt.Sprintf("%d networks in turns", len(cells))
	}
	p.at = fmt.Sprintf("%s, %s, %s", what, hosts(c.Hosts), c.Workload)
}

// Trial implements runner.Watch. It reports a trial without a result.
func (p *progress) Trial(t record.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trials++
	if t.Status == record.OK {
		return
	}
	line := told(fmt.Sprintf("%s on %s, %s: %s: %s", t.Cell.Network, hosts(t.Cell.Hosts), t.Cell.Workload, t.Status, t.Reason)) + "\n"
	if t.Status == record.Skipped { // once for all trials in the network, on any number of hosts
		line = told(fmt.Sprintf("%s: skipped: %s", t.Cell.Network, t.Reason)) + "\n"
		if p.told[line] {
			return
		}
		p.told[line] = true
	}
	if p.width != nil {
		line = clearLine + line
	}
	fmt.Fprint(p.w, line)
}

// done removes the line.
func (p *progress) done() {
	close(p.quit)
	p.ended.Wait()
}

func hosts(n int) string { return counted(n, "host") }

// counted returns a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// rough rounds a length of time as people would.
func rough(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
