package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func streamCell(network string) record.Cell {
	return record.Cell{Network: network, Hosts: 1, Family: 4, Servers: 1, Clients: 1,
		Tool: "engine", Workload: record.TCPStream, Placement: record.PlacementSame}
}

// settings95 are the settings of most tests.
func settings95() record.Settings {
	return record.Settings{Duration: 1, Precision: 0.05, Confidence: 0.95, MinRounds: 6, MaxRounds: 20, Seed: 7}
}

// throughputTrial is an OK trial with one figure, in bit/s.
func throughputTrial(c record.Cell, round int, value float64) record.Trial {
	return record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Order: 1, Status: record.OK, Window: 1, Elapsed: 1.5,
		Started: began.Add(time.Duration(round) * time.Minute),
		Metrics: map[string]record.Metric{record.Throughput: {Value: value, Unit: "bit/s"}}}
}

func lostTrial(c record.Cell, round int, status record.Status, reason string) record.Trial {
	return record.Trial{Type: record.TypeTrial, Cell: c, Round: round, Status: status, Reason: reason,
		Started: began.Add(time.Duration(round) * time.Minute)}
}

// fileOf returns a run of the trials that ended in an orderly way; every
// cell is planned, in the order of its first trial.
func fileOf(trials ...record.Trial) *record.File {
	f := &record.File{
		Run: record.Run{Type: record.TypeRun, SchemaVersion: record.SchemaVersion, ID: "0a", Started: began,
			Settings: settings95(), Machine: record.Machine{CPUs: make([]record.CPU, 2)}},
		Trials: trials,
		Ends:   []record.End{{Type: record.TypeEnd, Finished: began.Add(time.Hour), Reason: record.EndMaxRounds}},
	}
	for _, t := range trials {
		f.Run.Cells = record.AddNew(f.Run.Cells, t.Cell)
	}
	return f
}

// pairedTrials returns rounds of host and of a bridge at ratio times its
// speed, both with normal noise of the relative deviation sd.
func pairedTrials(seed uint64, rounds int, ratio, sd float64) []record.Trial {
	r := rand.New(rand.NewPCG(seed, 0))
	var out []record.Trial
	for i := 1; i <= rounds; i++ {
		out = append(out,
			throughputTrial(streamCell("host"), i, 10e9*(1+sd*r.NormFloat64())),
			throughputTrial(streamCell("bridge"), i, 10e9*ratio*(1+sd*r.NormFloat64())))
	}
	return out
}

// encode writes the file as lines.
func encode(t testing.TB, f *record.File) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	err := enc.Encode(f.Run)
	for _, x := range f.Trials {
		err = errors.Join(err, enc.Encode(x))
	}
	for _, x := range f.Resumes {
		err = errors.Join(err, enc.Encode(x))
	}
	for _, x := range f.Ends {
		err = errors.Join(err, enc.Encode(x))
	}
	iferr.Fatal(t, err)
	return b.Bytes()
}

// rowOf finds the row of a network.
func rowOf(t *testing.T, res Result, network string) Row {
	t.Helper()
	for _, r := range res.Rows() {
		if r.Cell.Network == network {
			return r
		}
	}
	t.Fatalf("no row of %s", network)
	return Row{}
}

func codes(ws []Warning) []string {
	return record.Each(ws, func(w Warning) string { return w.Code })
}

func warningOf(t *testing.T, ws []Warning, code string) Warning {
	t.Helper()
	w, found := record.First(ws, func(w Warning) bool { return w.Code == code })
	if !found {
		t.Fatalf("no warning %s among %q", code, codes(ws))
	}
	return w
}

// scale multiplies a figure of a trial, if it has that.
func scale(t *record.Trial, metric string, by float64) {
	if m, has := t.Metrics[metric]; has {
		m.Value *= by
		t.Metrics[metric] = m
	}
}

// each returns pointers to the trials, as a series has them.
func each(trials []record.Trial) (all []*record.Trial) {
	for i := range trials {
		all = append(all, &trials[i])
	}
	return all
}
