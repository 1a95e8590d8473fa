package analysis

import (
	"math"

	"nettoll/record"
	"nettoll/reference"
)

// Names of the figures of CPU use, beside those that reference has.
const (
	CPUDaemons    = "cpu_daemons"
	CPUContainers = "cpu_containers"
	CPUMachine    = "cpu_machine"
)

// CPUKinds lists the figures of CPU use in the window, which rows have beside
// those of their metrics. They are in CPU seconds a second: 1 is one CPU, all the
// time. Client and server are the processes at either end and the system calls
// they made; containers are all that runs in those of both ends, clients and
// servers among them, where the platform counts it; packets that the kernel handles
// on behalf of nobody are in the machine's figure only, as is the measuring itself.
func CPUKinds() []record.Kind {
	return []record.Kind{
		{Name: reference.CPUClient, Title: "CPU of clients", Unit: "cpu-s/s", Better: record.LowerIsBetter},
		{Name: reference.CPUServer, Title: "CPU of servers", Unit: "cpu-s/s", Better: record.LowerIsBetter},
		{Name: CPUDaemons, Title: "CPU of daemons", Unit: "cpu-s/s", Better: record.LowerIsBetter},
		{Name: CPUContainers, Title: "CPU of containers", Unit: "cpu-s/s", Better: record.LowerIsBetter},
		{Name: CPUMachine, Title: "CPU of the machine", Unit: "cpu-s/s", Better: record.LowerIsBetter},
	}
}

// loads are the values of a figure of CPU use in the OK trials. A network without
// daemons has none of theirs, and one whose containers nobody counts none of theirs.
func (s series) loads(k record.Kind) []Point {
	var out []Point
	for _, t := range s.ok() {
		if t.CPU == nil || t.Window <= 0 {
			continue
		}
		var seconds float64
		switch k.Name {
		case reference.CPUClient:
			seconds = t.CPU.Client.Total()
		case reference.CPUServer:
			seconds = t.CPU.Server.Total()
		case CPUMachine:
			seconds = t.CPU.Machine.Busy
		case CPUDaemons:
			if len(t.CPU.Daemons) == 0 {
				continue
			}
			for _, d := range t.CPU.Daemons {
				seconds += d.Total()
			}
		case CPUContainers:
			for _, c := range t.CPU.Containers {
				seconds += c.CPU
			}
		}
		// Nothing runs without CPU time: 0 is what was not recorded.
		if v := seconds / t.Window; v > 0 && !math.IsInf(v, 0) {
			out = append(out, Point{t.Round, v})
		}
	}
	return out
}
