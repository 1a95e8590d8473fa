package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nettoll/analysis"
	"nettoll/internal/handlers"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// TestUnread checks that only a closed standard output is no one to report to.
func TestUnread(t *testing.T) {
	write := func(path string, err error) error { return &fs.PathError{Op: "write", Path: path, Err: err} }
	broken := os.NewSyscallError("write", syscall.EPIPE)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{write("/dev/stdout", syscall.EPIPE), true}, {fmt.Errorf("report: %w", write("/dev/stdout", syscall.EPIPE)), true},
		{write("/dev/stdout", syscall.ENOSPC), false}, {write("|1", syscall.EPIPE), false},
		{fmt.Errorf("docker engine: %w", &net.OpError{Op: "write", Net: "unix", Err: broken}), false},
	} {
		if got := unread(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// TestLeftBehind checks that what could not be removed is said, and not lost beside what the run ended with.
func TestLeftBehind(t *testing.T) {
	broke, left := errors.New("broke"), errors.New("remove pods: no answer")
	for _, c := range []struct{ ends, left, want error }{
		{nil, nil, nil}, {broke, nil, broke}, {broke, left, broke}, {context.Canceled, left, context.Canceled},
		{exitError(exitInterrupted), left, exitError(exitInterrupted)}, {nil, left, exitError(exitFailure)},
	} {
		var said strings.Builder
		a := &app{stderr: &said}
		if got := a.leftBehind(c.ends, c.left); got != c.want {
			t.Errorf("%v and %v end with %v, want %v", c.ends, c.left, got, c.want)
		}
		if want := map[bool]string{true: "nettoll: remove pods: no answer\n"}[c.left != nil]; said.String() != want {
			t.Errorf("%v and %v: it said %q, want %q", c.ends, c.left, said.String(), want)
		}
	}
}

// TestStatusOfARun checks the exit statuses that the help of run describes.
func TestStatusOfARun(t *testing.T) {
	cell := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR}
	other := cell
	other.Network = "veth"
	trial := trialThat
	for name, c := range map[string]struct {
		trials []record.Trial
		want   int
	}{
		"all good":                  {[]record.Trial{trial(cell, 1, record.OK), trial(other, 1, record.OK)}, exitOK},
		"single trials failed":      {[]record.Trial{trial(cell, 1, record.OK), trial(cell, 2, record.Failed), trial(cell, 3, record.Invalid), trial(other, 1, record.OK)}, exitOK},
		"one that cannot run here":  {[]record.Trial{trial(cell, 1, record.OK), trial(other, 1, record.Skipped)}, exitOK},
		"one without a good trial":  {[]record.Trial{trial(cell, 1, record.OK), trial(other, 1, record.Failed)}, exitFailure},
		"one over another path":     {[]record.Trial{trial(cell, 1, record.OK), trial(other, 1, record.Invalid)}, exitFailure},
		"one that was never tried":  {[]record.Trial{trial(cell, 1, record.OK)}, exitFailure},
		"one that failed all along": {[]record.Trial{trial(other, 1, record.Failed), trial(cell, 1, record.OK), trial(other, 2, record.Failed)}, exitFailure},
	} {
		err := broken(analysis.Analyze(&record.File{Run: record.Run{Cells: []record.Cell{cell, other}}, Trials: c.trials}))
		var status exitError
		if errors.As(err, &status); int(status) != c.want {
			t.Errorf("%s: status %d, want %d", name, status, c.want)
		}
	}
}

// TestStatusWithoutABaseline checks that a run fails in which networks were measured, and what they are compared with cannot be.
func TestStatusWithoutABaseline(t *testing.T) {
	bridge := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR}
	host := bridge.Against()
	for network, want := range map[record.Status]error{record.OK: exitError(exitFailure), record.Skipped: nil} {
		trials := []record.Trial{trialThat(host, 1, record.Skipped), trialThat(bridge, 1, network)}
		if err := broken(analysis.Analyze(&record.File{Run: record.Run{Cells: []record.Cell{host, bridge}}, Trials: trials})); err != want {
			t.Errorf("a network that is %s: %v, want %v", network, err, want)
		}
	}
	found := impossible{networks: map[string]error{"host": errors.New("no")}, reasons: []reason{{[]string{"host"}, "no"}}}
	if err := found.nothing([]record.Cell{host, bridge}); err == nil || err.Error() != "the baseline cannot run here; name another (--baseline): host: no" {
		t.Error(err)
	}
}

// trialThat returns a trial of tcp_rr with a status.
func trialThat(c record.Cell, round int, s record.Status) record.Trial {
	tr := record.Trial{Cell: c, Round: round, Status: s, Window: 1}
	if s == record.OK {
		tr.Metrics = map[string]record.Metric{record.LatencyP50: record.Measured(record.LatencyP50, 1e-5)}
	} else {
		tr.Reason = "told"
	}
	return tr
}

// TestStatusOfARunThatGaveUp checks the exit statuses of runs that ended early, though everything in them has a good trial.
func TestStatusOfARunThatGaveUp(t *testing.T) {
	cell := record.Cell{Network: "host", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree}
	path := filepath.Join(t.TempDir(), "x.ndjson")
	w, err := record.Create(path, record.Run{ID: newID(), Cells: []record.Cell{cell}})
	iferr.Fatal(t, err)
	for round, s := range []record.Status{record.OK, record.Failed, record.Failed, record.Failed} {
		iferr.Fatal(t, w.Trial(trialThat(cell, round+1, s)))
	}
	iferr.Fatal(t, w.Close())
	for reason, want := range map[string]int{record.EndMaxRounds: exitOK, record.EndFailed: exitFailure, record.EndInterrupted: exitInterrupted} {
		a := &app{stdout: io.Discard, stderr: io.Discard}
		err := a.conclude(path, runFlags{format: "text"}, reason)
		var status exitError
		if errors.As(err, &status); int(status) != want || want == exitOK && err != nil {
			t.Errorf("%s: %v, want status %d", reason, err, want)
		}
	}
}

// TestAgentByHand checks what a person is told who starts an agent at a terminal, or with arguments that no program of nettoll gives.
func TestAgentByHand(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"agent"}, "nettoll: " + handlers.ErrByHand.Error() + "\n"},
		{[]string{"agent", "x"}, `nettoll: unknown command "agent"; see nettoll --help` + "\n"},
	} {
		var said strings.Builder
		a := &app{args: c.args, stdin: strings.NewReader(""), stdout: io.Discard, stderr: &said, terminal: true}
		if status := a.run(t.Context()); status != exitUsage || said.String() != c.want {
			t.Errorf("%q: status %d, says %q", c.args, status, said.String())
		}
	}
}
