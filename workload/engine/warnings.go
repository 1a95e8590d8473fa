package engine

import (
	"fmt"
	"slices"

	"nettoll/internal/oneline"
	"nettoll/record"
)

// Codes of warnings.
const (
	WarnGenerator = "generator-limited"
	WarnStrangers = "strangers"
	WarnWindow    = "window-limited"
	WarnCold      = "cold-flows"
	WarnPace      = "pace-missed"
)

// A generator that spends more than generatorShare of its CPU time in user space gets a warning: all
// work of the network is done by the kernel. Below generatorLeast seconds of CPU time the split into
// user and system time, which the kernel samples at ticks of 1 to 10 ms, is too coarse.
const (
	generatorShare = 0.25
	generatorLeast = 0.1
)

func generatorLimited(process string, use cpuTime) *record.Warning {
	total := use.User + use.System
	return warning(total >= generatorLeast && use.User > generatorShare*total, WarnGenerator,
		"%s spent %.0f %% of its CPU time in user space: the figures measure the generator more than the network (larger messages need less CPU time)",
		process, 100*use.User/total)
}

// warning returns a warning, or nil unless it applies.
func warning(applies bool, code, format string, args ...any) *record.Warning {
	if !applies {
		return nil
	}
	return &record.Warning{Code: code, Text: fmt.Sprintf(format, args...)}
}

func strangersCame(server string, n int64) *record.Warning {
	return warning(n > 0, WarnStrangers, "%s turned away %d connections or datagrams that did not belong to the trial", server, n)
}

// windowLimited compares the socket buffer with the requested size. The kernel doubles the size it
// grants, for its own overhead (socket(7)).
func windowLimited(name, limit string, asked, got int) *record.Warning {
	return warning(got < 2*asked, WarnWindow, "%s buffer of %d bytes requested, %d granted: limited by %s", name, asked, got/2, limit)
}

func coldFlows(n, of int, inTurns bool) *record.Warning {
	when := "the window opened (a longer warm-up would help)"
	if inTurns {
		when = "the window of a turn opened"
	}
	return warning(n > 0, WarnCold, "%d of %d flows had received nothing when %s", n, of, when)
}

// paceKept is the least share of the requested rate that counts as keeping it.
const paceKept = 0.98

func paceMissed(what string, asked, got float64) *record.Warning {
	return warning(asked != 0 && got < paceKept*asked, WarnPace,
		"reached only %s of the requested %s %s: the path or the generator could not keep up", oneline.Number(got, 4), oneline.Number(asked, 4), what)
}

// shortfalls returns warnings about traffic that missed its given pace. Each flow is allowed the
// one item that it was about to send at an edge of the window.
func (t *trial) shortfalls(sent datagrams, m map[string]record.Metric) (all []record.Warning) {
	flows, seconds := float64(len(t.flows)), t.job.Duration.Seconds()
	rate := m[record.TransactionRate].Value + flows/seconds
	offered := (float64(sent.Expected) + flows) * float64(t.options.MessageSize) * 8 / seconds
	if t.traffic.name == record.TCPStream {
		offered = m[record.Throughput].Value + flows*float64(t.options.MessageSize)*8/seconds
	}
	for _, w := range []*record.Warning{
		paceMissed("transactions per second", flows*float64(t.options.Rate), rate),
		paceMissed("Mbit/s of payload", flows*float64(t.options.Bandwidth)/1e6, offered/1e6),
	} {
		if w != nil {
			all = append(all, *w)
		}
	}
	return all
}

// warnings collects the warnings of all parties, each once.
func (t *trial) warnings() []record.Warning {
	var all []record.Warning
	add := func(w *record.Warning) {
		if w != nil && !slices.Contains(all, *w) {
			all = append(all, *w)
		}
	}
	cold := 0
	for _, p := range t.parties() {
		for _, w := range p.opened.Warnings {
			add(&w)
		}
		if !t.traffic.meeting.managed { // with managed flows, the programs themselves are measured, too
			add(generatorLimited(p.String(), p.window.CPU))
		}
		cold += p.window.Cold
		add(strangersCame(p.String(), p.left.Strangers))
	}
	add(coldFlows(cold, len(t.flows), t.inTurns))
	return all
}
