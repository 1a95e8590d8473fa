package sampler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nettoll/record"
)

// cgroupFiles are where the CPU time of a control group stands, below sys, and what
// one unit of it is. Of version 1, distributions mount cpuacct alone or joined with
// cpu; of version 2 there is one tree.
var cgroupFiles = []struct {
	name, field string // no field: the file is a number
	unit        time.Duration
}{
	{"fs/cgroup/cpuacct/cpuacct.usage", "", time.Nanosecond},
	{"fs/cgroup/cpu,cpuacct/cpuacct.usage", "", time.Nanosecond},
	{"fs/cgroup/cpu.stat", "usage_usec", time.Microsecond},
}

// Cgroup is the CPU time that all processes of a container have used since it began,
// read inside it: what is mounted there as the root of control groups is the
// container's own. sys is "/sys".
func Cgroup(sys string) (time.Duration, error) {
	for _, f := range cgroupFiles {
		path := filepath.Join(sys, f.name)
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("sampler: CPU time of the container: %w", err)
		}
		n, err := usage(string(b), f.field)
		if err != nil {
			return 0, fmt.Errorf("sampler: CPU time of the container: %s: %w", path, err)
		}
		return time.Duration(n) * f.unit, nil
	}
	return 0, fmt.Errorf("sampler: CPU time of the container: %s has neither cpuacct.usage nor cpu.stat", filepath.Join(sys, "fs/cgroup"))
}

// usage finds the value of a field among lines of a name and a value, or takes all of
// the text for a value.
func usage(text, field string) (int64, error) {
	value := strings.TrimSpace(text)
	if field != "" {
		value = ""
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, field+" "); ok {
				value = strings.TrimSpace(rest)
			}
		}
		if value == "" {
			return 0, fmt.Errorf("has no %s", field)
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is less than nothing", n)
	}
	return n, err
}

// ContainerTime is the CPU time that a container has used so far.
type ContainerTime struct {
	at   time.Time
	used time.Duration
}

// Container asks for the CPU time of a container, which may be far away. The answer
// stands for the middle of the time that it took.
func Container(ask func() (time.Duration, error)) (ContainerTime, error) {
	began := time.Now()
	used, err := ask()
	return ContainerTime{began.Add(time.Since(began) / 2), used}, err
}

// Since is the CPU time used between an earlier reading and this one, scaled to a
// window of so many seconds.
func (t ContainerTime) Since(from ContainerTime, name string, window float64) record.ContainerCPU {
	elapsed := t.at.Sub(from.at).Seconds()
	if elapsed <= 0 {
		return record.ContainerCPU{Name: name}
	}
	return record.ContainerCPU{Name: name, CPU: positive((t.used - from.used).Seconds()) * window / elapsed}
}
