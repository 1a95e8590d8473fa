package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"nettoll/plan"
	"nettoll/record"
)

// progress shows how far a run is: a bar with an estimate on a terminal, a line a
// round elsewhere.
type progress struct {
	w       io.Writer
	bar     *progressbar.ProgressBar
	set     record.Settings
	began   time.Time
	round   int
	failed  int
	trials  int
	planned int // trials, as far as is known now
}

func (a *app) progress(f plan.Forecast, set record.Settings) *progress {
	p := &progress{w: a.stderr, set: set, began: time.Now()}
	fmt.Fprintf(a.stderr, "%d networks, %d cells, about %s; ctrl-C ends it with what there is\n",
		f.Visits, f.Cells, f.Max.Round(time.Second))
	if !a.watched {
		return p
	}
	p.planned = max(1, f.MaxRounds*f.Cells)
	p.bar = progressbar.NewOptions(p.planned,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionEnableColorCodes(false),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "█", SaucerPadding: "░", BarStart: "", BarEnd: ""}),
	)
	return p
}

// Round implements runner.Watch.
func (p *progress) Round(round, trials int) {
	p.round = round
	if p.bar == nil {
		fmt.Fprintf(p.w, "round %d: %d trials, %s since the beginning\n", round, trials, time.Since(p.began).Round(time.Second))
		return
	}
	p.expect(round, trials)
}

// expect foresees the number of trials from the time that the rounds so far took.
func (p *progress) expect(round, trials int) {
	rounds := p.set.MaxRounds - round + 1
	if spent := time.Since(p.began).Seconds(); p.set.Budget > 0 && p.trials > 0 {
		each := spent / float64(p.trials)
		rounds = min(rounds, max(1, int((p.set.Budget-spent)/(each*float64(trials)))))
	}
	if want := p.trials + rounds*trials; want != p.planned && p.trials > 0 {
		p.planned = want
		p.bar.ChangeMax(want)
	}
}

// Begin implements runner.Watch.
func (p *progress) Begin(c record.Cell) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("round %d  %-32.32s", p.round, fmt.Sprintf("%s, %d hosts, %s", c.Network, c.Hosts, c.Workload)))
	}
}

// Trial implements runner.Watch.
func (p *progress) Trial(t record.Trial) {
	p.trials++
	if t.Status != record.OK {
		p.say(t)
	}
	if p.bar != nil {
		_ = p.bar.Set(min(p.trials, p.planned-1)) // a full bar would be finished
	}
}

// say tells of a trial that gave no figure.
func (p *progress) say(t record.Trial) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintf(p.w, "%s on %d hosts, %s: %s: %s\n", t.Cell.Network, t.Cell.Hosts, t.Cell.Workload, t.Status, t.Reason)
}

// done takes the bar away.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	}
}
