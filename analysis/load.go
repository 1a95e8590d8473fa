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
	CPUClientHost = "cpu_client_host"
	CPUServerHost = "cpu_server_host"
	CPUShared     = "cpu_shared"
)

// CPUKinds lists the figures of CPU use in the window, which rows have beside
// those of their metrics. They are in CPU seconds a second: 1 is one CPU, all the
// time. Client and server are the processes at either end and the system calls
// they made; containers are all that runs in those of both ends, clients and
// servers among them, where the platform counts it.
//
// The host of clients, or of servers, has these processes and the daemons that run
// there; where it is a machine of its own it is all of that, less what it uses when idle.
// Shared is what no process can be charged with, over the idle machine: packets that the
// kernel handles on behalf of nobody, and the measuring itself.
func CPUKinds() []record.Kind {
	kind := func(name, title string) record.Kind {
		return record.Kind{Name: name, Title: title, Unit: "cpu-s/s", Better: record.LowerIsBetter}
	}
	return []record.Kind{
		kind(reference.CPUClient, "CPU of clients"),
		kind(reference.CPUServer, "CPU of servers"),
		kind(CPUDaemons, "CPU of daemons"),
		kind(CPUShared, "shared CPU"),
		kind(CPUClientHost, "CPU of the clients' host"),
		kind(CPUServerHost, "CPU of the servers' host"),
		kind(CPUContainers, "CPU of containers"),
		kind(CPUMachine, "CPU of the machine"),
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
		seconds, known := load(k.Name, t)
		if v := seconds / t.Window; known && !math.IsInf(v, 0) {
			out = append(out, Point{t.Round, v})
		}
	}
	return out
}

// load is a figure of CPU use in one trial, in seconds, if that is known.
func load(name string, t *record.Trial) (seconds float64, known bool) {
	switch name {
	case reference.CPUClient:
		seconds = t.CPU.Client.Total()
	case reference.CPUServer:
		seconds = t.CPU.Server.Total()
	case CPUMachine:
		seconds = t.CPU.Machine.Busy
	case CPUDaemons:
		seconds = daemons(t, func(record.ProcessCPU) bool { return true })
	case CPUContainers:
		for _, c := range t.CPU.Containers {
			seconds += c.CPU
		}
	case CPUClientHost:
		return hostLoad(t, "client", t.CPU.Client)
	case CPUServerHost:
		return hostLoad(t, "server", t.CPU.Server)
	case CPUShared:
		return sharedLoad(t)
	}
	// Nothing runs without CPU time: 0 is what was not recorded.
	return seconds, seconds > 0
}

func daemons(t *record.Trial, which func(record.ProcessCPU) bool) (seconds float64) {
	for _, d := range t.CPU.Daemons {
		if which(d) {
			seconds += d.Total()
		}
	}
	return seconds
}
