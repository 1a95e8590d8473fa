package main

import (
	"errors"
	"testing"

	"nettoll/analysis"
	"nettoll/record"
)

// TestStatusOfARun checks the exit statuses that the help of run describes.
func TestStatusOfARun(t *testing.T) {
	cell := record.Cell{Network: "bridge", Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPRR}
	other := cell
	other.Network = "veth"
	trial := func(c record.Cell, round int, s record.Status) record.Trial {
		tr := record.Trial{Cell: c, Round: round, Status: s, Window: 1}
		if s == record.OK {
			tr.Metrics = map[string]record.Metric{record.LatencyP50: record.Measured(record.LatencyP50, 1e-5)}
		} else {
			tr.Reason = "told"
		}
		return tr
	}
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
