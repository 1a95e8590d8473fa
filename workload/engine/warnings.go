package engine

import (
	"nettoll/internal/oneline"
	"nettoll/record"
	"nettoll/workload"
)

// Codes of warnings that only the engine gives.
const (
	WarnStrangers  = "strangers"           // others tried to take part in a trial
	WarnNoUnloaded = "no-unloaded-latency" // what a load adds to the latency is not known
)

// A generator that spends more than generatorShare of its CPU time in user space gets a warning: all
// work of the network is done by the kernel. Below generatorLeast seconds of CPU time the split into
// user and system time, which the kernel samples at ticks of 1 to 10 ms, is too coarse.
const (
	generatorShare = 0.25
	generatorLeast = 0.1
)

func generatorLimited(process string, use cpuTime) []record.Warning {
	total := use.User + use.System
	return record.Warn(total >= generatorLeast && use.User > generatorShare*total, record.WarnGenerator,
		"%s spent %.0f %% of its CPU time in user space: the figures measure the generator more than the network (larger messages need less CPU time)",
		process, 100*use.User/total)
}

func strangersCame(server string, n int64) []record.Warning {
	return record.Warn(n > 0, WarnStrangers, "%s turned away %d connections or datagrams that did not belong to the trial", server, n)
}

func coldFlows(n, of int, inTurns bool) []record.Warning {
	when := "the window opened (a longer warm-up would help)"
	if inTurns {
		when = "the window of a turn opened"
	}
	return record.Warn(n > 0, record.WarnCold, "%d of %d flows had received nothing when %s", n, of, when)
}

// pace returns warnings about traffic that did not keep its given pace. Each flow is allowed the
// one item, or what is sent at once, that it was about to send at an edge of the window.
func (t *trial) pace(sent datagrams, m map[string]record.Metric) []record.Warning {
	flows, seconds := float64(len(t.flows)), t.job.Duration.Seconds()
	message, rate := float64(t.options.MessageSize)*8/1e6, float64(t.options.Bandwidth)/1e6 // Mbit, Mbit/s
	offered := float64(sent.Expected) * message / seconds
	if t.traffic.name == record.TCPStream {
		offered = m[record.Throughput].Value / 1e6
	}
	kept := func(what string, asked, got, item float64) []record.Warning {
		return workload.Pace(asked, got, flows*item/seconds, oneline.Number(asked, 4)+" "+what)
	}
	return append(
		kept("transactions per second", flows*float64(t.options.Rate), m[record.TransactionRate].Value, 1),
		kept("Mbit/s of payload", flows*rate, offered, max(message, rate*trainTime.Seconds()))...)
}

// warnings collects the warnings of all parties, each once.
func (t *trial) warnings() (all []record.Warning) {
	cold := 0
	for _, p := range t.parties() {
		all = record.AddNew(all, p.opened.Warnings...)
		if !t.traffic.meeting.managed { // with managed flows, the programs themselves are measured, too
			all = record.AddNew(all, generatorLimited(p.String(), p.window.CPU)...)
		}
		cold += p.window.Cold
		all = record.AddNew(all, strangersCame(p.String(), p.left.Strangers)...)
	}
	return record.AddNew(all, coldFlows(cold, len(t.flows), t.inTurns)...)
}
