package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"nettoll/internal/nl"
	"nettoll/workload"
	"nettoll/workload/engine"
)

// Turns of two programs that take them one after the other. A turn whose counter is read too late does not count.
const (
	turnRounds  = 6 // each has connections of its own
	turnPairs   = 12
	turnSettle  = 20 * time.Millisecond
	turnWindow  = 100 * time.Millisecond
	turnLate    = 10 * time.Millisecond
	turnRest    = 10 * time.Millisecond
	turnLength  = turnSettle + turnWindow + turnLate + turnRest
	otherWarmup = time.Second // of a program that takes whole seconds
)

// turnOf is a turn of the engine, or of the other program.
type turnOf struct {
	ours   bool
	begins time.Time
}

// alternate runs streams of the engine and of another program, one of which is always at rest, and returns the mean
// rates at which they arrived, in bit/s with headers. Both are measured by the same counter, that of the server's device.
// In the engine's turns the other program's client is stopped by a signal; its server sleeps then, as nothing arrives.
func alternate(ctx context.Context, job workload.Job, other workload.Tool) (ours, theirs float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	engines := job
	engines.Warmup, engines.Duration = turnSettle, turnWindow+turnLate
	stands, err := engine.New().Stand(ctx, engines)
	if err != nil {
		return 0, 0, err
	}
	defer stands.Close()

	others, opened := job, make(chan struct{})
	others.Pairs = slices.Clone(job.Pairs)
	others.Pairs[0].Port, others.Pairs[0].Own = 20011, [2]int{20012, 20013}
	others.Warmup, others.Duration = otherWarmup, stands.Notice()+2*(turnPairs+1)*turnLength
	others.Watch.Open = func() { close(opened) }
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		_, err := other.Run(ctx, others)
		return err
	})
	all.Go(func() error {
		select {
		case <-opened:
		case <-ctx.Done():
			return nil // the other program failed
		}
		client, err := clientOf(other)
		if err != nil {
			return err
		}
		defer client.Signal(syscall.SIGCONT)
		if err := client.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		order, begins := inOrder(time.Now().Add(stands.Notice() + turnRest))
		all.Go(func() error {
			_, _, err := stands.Turns(ctx, workload.Turns{Begins: begins, Cold: 1})
			return err
		})
		return nl.With(job.Pairs[0].Server.Facts().NetNS, func(n *nl.NS) error {
			ours, theirs, err = watch(n, client, order)
			return err
		})
	})
	err = all.Wait()
	return ours, theirs, err
}

// inOrder returns the turns that count, and when the engine's turns begin: one that does not count comes first. In every
// other pair the engine is second.
func inOrder(begin time.Time) (order []turnOf, engines []time.Time) {
	engines = []time.Time{begin}
	for pair := range turnPairs {
		for _, ours := range []bool{pair%2 == 0, pair%2 != 0} {
			begin = begin.Add(turnLength)
			order = append(order, turnOf{ours, begin})
			if ours {
				engines = append(engines, begin)
			}
		}
	}
	return order, engines
}

// watch lets the other program's client run in its turns, and returns the mean rates in the pairs of turns that count.
func watch(n *nl.NS, client *os.Process, order []turnOf) (ours, theirs float64, err error) {
	var all [2][]float64
	for pair := range slices.Chunk(order, 2) {
		rates, inTime := map[bool]float64{}, true
		for _, t := range pair {
			rate, late, err := t.rate(n, client)
			if err != nil {
				return 0, 0, err
			}
			rates[t.ours] = rate
			inTime = inTime && late < turnLate
		}
		if inTime {
			all[0], all[1] = append(all[0], rates[true]), append(all[1], rates[false])
		}
	}
	if len(all[0]) == 0 {
		return 0, 0, errors.New("no turn was read in time")
	}
	return stat.Mean(all[0], nil), stat.Mean(all[1], nil), nil
}

// rate returns what arrived in the turn's window in bit/s, and how late an edge of it was read.
func (t turnOf) rate(n *nl.NS, client *os.Process) (rate float64, late time.Duration, err error) {
	time.Sleep(time.Until(t.begins))
	if !t.ours {
		if err := client.Signal(syscall.SIGCONT); err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, client.Signal(syscall.SIGSTOP)) }()
	}
	var bytes [2]uint64
	var at [2]time.Time
	for i, after := range []time.Duration{turnSettle, turnSettle + turnWindow} {
		edge := t.begins.Add(after)
		time.Sleep(time.Until(edge))
		d, err := n.Interface("eth0")
		if err != nil {
			return 0, 0, err
		}
		bytes[i], at[i] = d.InBytes, time.Now()
		late = max(late, at[i].Sub(edge))
	}
	return 8 * float64(bytes[1]-bytes[0]) / at[1].Sub(at[0]).Seconds(), late, nil
}

// clientOf finds the process of a program's client.
func clientOf(tool workload.Tool) (*os.Process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		args, err := p.CmdLine() // of a process that has ended since then there is none
		if err == nil && len(args) > 0 && filepath.Base(args[0]) == tool.Name && slices.Contains(args, "-c") {
			return os.FindProcess(p.PID)
		}
	}
	return nil, fmt.Errorf("no client of %s was found", tool.Name)
}
