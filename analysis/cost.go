package analysis

import (
	"math"
	"slices"
	"strings"

	"nettoll/record"
)

// gigabyte is 1e9 bytes in bits.
const gigabyte = 8e9

// costKind is CPU use for what was moved meanwhile, as a metric: CPU seconds for 1e9 bytes of
// payload, or for a transaction where that is what the workload counts. CPU use itself says
// little between networks that do not move the same.
func costKind(k record.Kind, c record.Cell) record.Kind {
	if perTransaction(c) {
		return record.Kind{Name: k.Name + "_per_transaction", Title: k.Title + " per transaction", Unit: "cpu-s", Better: k.Better}
	}
	return record.Kind{Name: k.Name + "_per_gb", Title: k.Title + " per GB", Unit: "cpu-s/GB", Better: k.Better}
}

// CostKind is the figure of a row's Costs that belongs to one of CPUKinds.
func CostKind(name string, c record.Cell) (record.Kind, bool) {
	for _, k := range CPUKinds() {
		if k.Name == name {
			return costKind(k, c), true
		}
	}
	return record.Kind{}, false
}

func perTransaction(c record.Cell) bool {
	return slices.Contains(record.Primary(c.Workload), record.CPUPerTransaction)
}

// amounts are what the trials moved in a second: units of 1e9 bytes, or transactions.
func (s series) amounts() []Point {
	name, unit := record.Throughput, gigabyte
	if perTransaction(s.cell) {
		name, unit = record.TransactionRate, 1.0
	}
	k, _ := record.KindOf(name)
	out := s.points(k)
	for i := range out {
		out[i].Value /= unit
	}
	return out
}

// costs are a figure of CPU use over what the trial moved. Traffic of two kinds at once has none: nobody
// knows which of its CPU time is whose.
func (s series) costs(k record.Kind) []Point {
	if record.Mixed(s.cell.Workload) {
		return nil
	}
	var out []Point
	for _, p := range pairUp(s.loads(k), s.amounts()) {
		if v := p.cell / p.native; p.native > 0 && !math.IsInf(v, 0) {
			out = append(out, Point{p.round, v})
		}
	}
	return out
}

// inUseKind is CPU use over idle as a metric.
func inUseKind() record.Kind {
	return record.Kind{Name: "cpu_in_use", Title: "CPU in use", Unit: "cpu-s/s", Better: record.LowerIsBetter}
}

// inUse is how many CPUs the trials used over the idle machine: what a unit cost, times how many
// there were.
func (s series) inUse() []Point {
	name := record.CPUPerGB
	if perTransaction(s.cell) {
		name = record.CPUPerTransaction
	}
	k, _ := record.KindOf(name)
	var out []Point
	for _, p := range pairUp(s.points(k), s.amounts()) {
		if v := p.cell * p.native; !math.IsInf(v, 0) {
			out = append(out, Point{p.round, v})
		}
	}
	return out
}

// CostFollows reports whether a difference in CPU per GB, or per transaction, says nothing of its
// own: no more and no fewer CPUs were in use than over the baseline, as far as is known, so the
// cost differs because the throughput does. A stream that keeps a CPU busy is such.
func (r Row) CostFollows() bool {
	if r.InUse == nil || r.InUse.Ratio == nil || r.InUse.Ratio.Outcome == Different {
		return false
	}
	volume, ok := r.Figure(record.Throughput)
	if perTransaction(r.Cell) {
		volume, ok = r.Figure(record.TransactionRate)
	}
	return ok && volume.Ratio != nil && volume.Ratio.Outcome != Same
}

// Cost finds a figure of CPU use over what was moved, by the name of the CPU use.
func (r Row) Cost(name string) (Figure, bool) {
	for _, f := range r.Costs {
		if strings.HasPrefix(f.Kind.Name, name+"_per_") {
			return f, true
		}
	}
	return Figure{}, false
}
