// Package sampler reads what the kernel says of the machine, of processes and of
// network namespaces while traffic flows: CPU time, counters, and the facts that
// make two endpoints comparable or not.
package sampler

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"nettoll/record"
)

// CPU samples the CPU time of the whole machine.
type CPU struct {
	fs   procfs.FS
	path string
}

// NewCPU reads below proc ("/proc").
func NewCPU(proc string) (*CPU, error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	return &CPU{fs, filepath.Join(proc, "stat")}, nil
}

// Snapshot is the machine at one moment, by its own clock.
type Snapshot struct {
	At   time.Time
	CPUs map[int64]procfs.CPUStat
}

// Read takes a snapshot.
func (c *CPU) Read() (Snapshot, error) {
	st, err := c.fs.Stat()
	if err != nil {
		return Snapshot{}, fmt.Errorf("sampler: read CPU time: %s: %w", c.path, err)
	}
	if len(st.CPU) == 0 {
		return Snapshot{}, fmt.Errorf("sampler: read CPU time: %s names no CPU", c.path)
	}
	return Snapshot{time.Now(), st.CPU}, nil
}

// ErrNoTime is of two readings that are one, or were never made.
var ErrNoTime = errors.New("sampler: no time passed between two readings of CPU time")

// Use is what the machine did between two snapshots, scaled to a window of so
// many seconds, which the snapshots enclose but for scheduling delays.
//
// The kernel counts user, system and softirq time in ticks of 10 ms, but idle
// time to the microsecond where it stops the tick on idle CPUs. Busy is
// therefore what is left of the elapsed time after idle, iowait and steal.
func Use(from, to Snapshot, window float64) (record.MachineCPU, error) {
	elapsed := to.At.Sub(from.At).Seconds()
	if elapsed <= 0 || window <= 0 {
		return record.MachineCPU{}, ErrNoTime
	}
	scale := window / elapsed
	var m record.MachineCPU
	for id, b := range to.CPUs {
		a, ok := from.CPUs[id]
		if !ok {
			continue // came online in between
		}
		s := record.CPUSample{
			CPU:     int(id),
			User:    scale * positive(b.User+b.Nice-a.User-a.Nice),
			System:  scale * positive(b.System-a.System),
			Softirq: scale * positive(b.SoftIRQ-a.SoftIRQ),
			IRQ:     scale * positive(b.IRQ-a.IRQ),
			Steal:   scale * positive(b.Steal-a.Steal),
			Idle:    scale * positive(b.Idle+b.Iowait-a.Idle-a.Iowait),
		}
		m.PerCPU = append(m.PerCPU, s)
		m.Busy += positive(window - s.Idle - s.Steal)
		m.Softirq += s.Softirq
		m.Steal += s.Steal
	}
	slices.SortFunc(m.PerCPU, func(a, b record.CPUSample) int { return a.CPU - b.CPU })
	return m, nil
}

func positive(x float64) float64 { return max(0, x) }
