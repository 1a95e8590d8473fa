package analysis

import (
	"fmt"
	"testing"

	"nettoll/record"
)

// streamOf returns a cell whose only trial lasted a second, with a sender on CPU 0 and a receiver on CPU 1.
func streamOf(change func(*record.Trial)) series {
	t := record.Trial{
		Cell:   record.Cell{Network: "bridge", Hosts: 1, Servers: 1, Clients: 1, Workload: record.TCPStream},
		Status: record.OK, Window: 1,
		CPU: &record.CPUUse{
			Client:  record.ProcessCPU{System: 0.5, CPUs: []int{0}},
			Server:  record.ProcessCPU{System: 0.5, CPUs: []int{1}},
			Machine: record.MachineCPU{PerCPU: []record.CPUSample{{CPU: 0, Idle: 0.5}, {CPU: 1, Idle: 0.5}, {CPU: 2, Idle: 1}}},
		},
		Flows: []record.Flow{{Bytes: 1e9 / 8, TCP: &record.TCPInfo{Busy: 1e6}}},
	}
	change(&t)
	return series{cell: t.Cell, trials: []*record.Trial{&t}}
}

// onMachines returns a change of the trial of streamOf: the sender is on one machine, the receiver on another, each of
// which has CPUs 0 and 1.
func onMachines(change func(u *record.CPUUse, sender, receiver []record.CPUSample)) func(*record.Trial) {
	return func(t *record.Trial) {
		u := t.CPU
		u.Hosts = []record.HostCPU{{Host: "machine 1"}, {Host: "machine 2"}}
		u.Client.Host, u.Server.Host = "machine 2", "machine 1"
		u.Machine.PerCPU = []record.CPUSample{
			{Host: "machine 1", CPU: 0, Idle: 1}, {Host: "machine 1", CPU: 1, Idle: 0.5},
			{Host: "machine 2", CPU: 0, Idle: 0.5}, {Host: "machine 2", CPU: 1, Idle: 1},
		}
		change(u, u.Machine.PerCPU[2:], u.Machine.PerCPU[:2])
	}
}

// twoSenders returns a change of the trial of streamOf: there are two senders, each on CPU 0 of a machine of its own, of which
// they use a share each. The CPU time of the machines is not known.
func twoSenders(share float64) func(*record.Trial) {
	return func(t *record.Trial) {
		t.Cell.Clients = 2
		t.Endpoints = []record.Endpoint{
			{Role: "client", Host: "machine 2"}, {Role: "server", Host: "machine 1"},
			{Role: "client", Host: "machine 3"}, {Role: "server", Host: "machine 1"},
		}
		t.CPU.Hosts = []record.HostCPU{{Host: "machine 1"}, {Host: "machine 2"}, {Host: "machine 3"}}
		t.CPU.Client.System, t.CPU.Machine.PerCPU = 2*share, nil
	}
}

// shaped returns a change of the trial of streamOf: it is between so many hosts on an underlay, with a further change.
func shaped(hosts int, underlay string, more func(*record.Trial)) func(*record.Trial) {
	return func(t *record.Trial) {
		t.Cell.Hosts, t.Cell.Underlay = hosts, underlay
		if more != nil {
			more(t)
		}
	}
}

// cards returns the ends of a trial, each on a machine of its own, with the rates of their links in Mbit/s. The last one is
// the server.
func cards(driver string, rates ...int) (ends []record.Endpoint) {
	for i, rate := range rates {
		ends = append(ends, record.Endpoint{Role: "client", Host: fmt.Sprintf("machine %d", i+1), NIC: &record.NIC{Driver: driver, Speed: rate}})
	}
	ends[len(ends)-1].Role = "server"
	return ends
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*record.Trial)
		want   Limit
	}{
		{"nothing is used up", func(*record.Trial) {}, Limit{}},
		{"sender", func(t *record.Trial) { t.CPU.Client.System = 0.97 }, Limit{By: LimitSender}},
		{"sender that carries softirq", func(t *record.Trial) {
			t.CPU.Client.System, t.CPU.Machine.PerCPU[0].Softirq = 0.97, 0.6
		}, Limit{By: LimitSender, Softirq: 0.6}},
		{"a few ticks of softirq say nothing", func(t *record.Trial) {
			t.CPU.Client.System, t.CPU.Machine.PerCPU[0].Softirq = 0.97, 0.1
		}, Limit{By: LimitSender}},
		{"receiver", func(t *record.Trial) { t.CPU.Server.System = 0.95 }, Limit{By: LimitReceiver}},
		{"the other way round", func(t *record.Trial) { t.CPU.Server.System, t.Cell.Options.Reverse = 0.95, true }, Limit{By: LimitSender}},
		{"both", func(t *record.Trial) { t.CPU.Client.System, t.CPU.Server.System = 0.95, 0.99 }, Limit{By: LimitBoth}},
		{"generator", func(t *record.Trial) { t.CPU.Client.User, t.CPU.Client.System = 0.6, 0.39 }, Limit{By: LimitGenerator}},
		{"both, seldom in user space, for long", func(t *record.Trial) {
			t.Window, t.CPU.Client.User, t.CPU.Client.System, t.CPU.Server.User, t.CPU.Server.System = 10, 0.3, 9.4, 0.3, 9.4
		}, Limit{By: LimitBoth}},
		{"generator that receives", func(t *record.Trial) { t.CPU.Server.User, t.CPU.Server.System = 0.6, 0.39 }, Limit{By: LimitGenerator}},
		{"two flows on CPUs of their own", func(t *record.Trial) {
			t.CPU.Client.System, t.CPU.Client.CPUs, t.Cell.Options.Streams = 0.97, []int{0, 1}, 2
		}, Limit{}},
		{"two flows on one CPU", func(t *record.Trial) { t.CPU.Client.System, t.Cell.Options.Streams = 0.97, 2 }, Limit{By: LimitSender}},
		{"softirq elsewhere", func(t *record.Trial) { t.CPU.Machine.PerCPU[2] = record.CPUSample{CPU: 2, Softirq: 0.95, Idle: 0.02} }, Limit{By: LimitSoftirq, CPU: 2}},
		{"softirq on several CPUs", func(t *record.Trial) {
			for cpu := 9; cpu > 1; cpu-- {
				t.CPU.Machine.PerCPU = append(t.CPU.Machine.PerCPU, record.CPUSample{CPU: cpu, Softirq: 0.95})
			}
			t.CPU.Machine.PerCPU[2].Idle = 0
		}, Limit{By: LimitSoftirq, CPU: 2}},
		{"softirq elsewhere, beside idle time", func(t *record.Trial) {
			t.CPU.Machine.PerCPU[2] = record.CPUSample{CPU: 2, Softirq: 0.6, Idle: 0.4}
		}, Limit{}},
		{"a few ticks of softirq elsewhere", func(t *record.Trial) {
			t.Window, t.CPU.Client.System, t.CPU.Server.System = 0.3, 0.15, 0.15
			t.CPU.Machine.PerCPU[2] = record.CPUSample{CPU: 2, Softirq: 0.18}
		}, Limit{}},
		{"sender that carries softirq, on a machine of its own", onMachines(func(u *record.CPUUse, sender, _ []record.CPUSample) {
			u.Client.System, sender[0].Softirq = 0.97, 0.6
		}), Limit{By: LimitSender, Softirq: 0.6}},
		{"softirq on the CPU of that number of the other machine", onMachines(func(u *record.CPUUse, _, receiver []record.CPUSample) {
			u.Client.System, receiver[0].Softirq = 0.97, 0.6
		}), Limit{By: LimitSender}},
		{"senders on several machines", onMachines(func(u *record.CPUUse, sender, _ []record.CPUSample) {
			u.Client.System, u.Client.Host, sender[0].Softirq = 0.97, "", 0.6
		}), Limit{By: LimitSender}},
		{"senders on a CPU each of two machines", twoSenders(0.5), Limit{}},
		{"senders on a CPU each of two machines, both used up", twoSenders(0.97), Limit{By: LimitSender}},
		{"senders with CPUs of their own, of two machines, both used up", func(t *record.Trial) {
			twoSenders(0.97)(t)
			one := map[string]string{"cpu": "1"}
			for i, id := range map[int]int{0: 2, 2: 3} { // of each sender
				t.Endpoints[i].Resources = &record.Resources{Requests: one, Limits: one}
				t.Endpoints[i].Machine = &record.Machine{CPUs: []record.CPU{{ID: id}}}
			}
			t.Cell.Options.Streams, t.CPU.Client.CPUs = 2, []int{2, 3}
		}, Limit{By: LimitSender}},
		{"softirq elsewhere, on the receiver's machine", onMachines(func(_ *record.CPUUse, _, receiver []record.CPUSample) {
			receiver[0].Softirq, receiver[0].Idle = 0.95, 0.02 // the other machine's CPU 0 idles
		}), Limit{By: LimitSoftirq, CPU: 0, End: LimitReceiver}},
		{"softirq elsewhere, on the sender's machine", onMachines(func(_ *record.CPUUse, sender, _ []record.CPUSample) {
			sender[1].Softirq, sender[1].Idle = 0.95, 0.02
		}), Limit{By: LimitSoftirq, CPU: 1, End: LimitSender}},
		{"half of the softirq on each of two machines", onMachines(func(_ *record.CPUUse, sender, receiver []record.CPUSample) {
			sender[1].Softirq, sender[1].Idle = 0.4, 0.02
			receiver[1].Softirq, receiver[1].Idle = 0.4, 0.02
		}), Limit{}},
		{"softirq on machines that were not told apart", onMachines(func(u *record.CPUUse, sender, receiver []record.CPUSample) {
			u.Client.System, sender[0].Softirq, receiver[0].Softirq = 0.97, 0.6, 0.2
			for i := range u.Machine.PerCPU {
				u.Machine.PerCPU[i].Host = ""
			}
		}), Limit{By: LimitSender}},
		{"softirq elsewhere on machines that were not told apart", onMachines(func(u *record.CPUUse, sender, receiver []record.CPUSample) {
			sender[1].Softirq, sender[1].Idle, receiver[1].Idle = 0.95, 0.02, 0.02
			for i := range u.Machine.PerCPU {
				u.Machine.PerCPU[i].Host = ""
			}
		}), Limit{}},
		{"link", shaped(2, "m4.large:rate=1.05gbit,delay=1ms", nil), Limit{By: LimitLink}},
		{"a link with room", shaped(2, "rate=10gbit", nil), Limit{}},
		{"one host, whose link carries nothing", shaped(1, "rate=1gbit", nil), Limit{}},
		{"the link of the server to which two send", shaped(3, "rate=1gbit", func(t *record.Trial) { t.Cell.Clients = 2 }), Limit{By: LimitLink}},
		{"the link of the server that sends", shaped(3, "rate=1gbit", func(t *record.Trial) {
			t.Cell.Clients, t.Cell.Options.Reverse = 2, true
		}), Limit{By: LimitLink}},
		{"the slower of two network cards", func(t *record.Trial) { t.Endpoints = cards("e1000e", 10000, 1000) }, Limit{By: LimitLink}},
		{"network cards with room", func(t *record.Trial) { t.Endpoints = cards("e1000e", 10000, 2500) }, Limit{}},
		{"network cards of two senders", func(t *record.Trial) { t.Endpoints = cards("e1000e", 1000, 1000, 10000) }, Limit{}},
		{"the network card of their receiver", func(t *record.Trial) { t.Endpoints = cards("e1000e", 1000, 1000, 1000) }, Limit{By: LimitLink}},
		{"the network card that two senders share", func(t *record.Trial) {
			t.Endpoints = cards("e1000e", 1000, 10000)
			t.Endpoints = append(t.Endpoints, t.Endpoints...)
		}, Limit{By: LimitLink}},
		{"a network card without a rate", func(t *record.Trial) { t.Endpoints = cards("virtio_net", 1000, 0) }, Limit{}},
		{"a card that carries more than it says", func(t *record.Trial) { t.Endpoints = cards("virtual", 900, 900) }, Limit{}},
		{"what is no card has no rate", func(t *record.Trial) { t.Endpoints = cards("veth", 1000, 1000) }, Limit{}},
		{"receiver's window", func(t *record.Trial) { t.Flows[0].TCP.WindowLimited = 9e5 }, Limit{By: LimitWindow}},
		{"sender's buffer", func(t *record.Trial) { t.Flows[0].TCP.BufferLimited = 9e5 }, Limit{By: LimitWindow}},
		{"datagrams have no window", func(t *record.Trial) { t.Cell.Workload, t.Flows[0].TCP = record.UDPStream, nil }, Limit{}},
		{"a slow reader fills the window", func(t *record.Trial) {
			t.Flows[0].TCP.WindowLimited, t.CPU.Server.System = 9e5, 0.99
		}, Limit{By: LimitReceiver}},
		{"a given rate", func(t *record.Trial) { t.CPU.Client.System, t.Cell.Options.Bandwidth = 0.97, 1e9 }, Limit{}},
		{"transactions", func(t *record.Trial) { t.CPU.Client.System, t.Cell.Workload = 0.97, record.TCPRR }, Limit{}},
		{"no CPU time was recorded", func(t *record.Trial) { t.CPU = nil }, Limit{}},
		{"it failed", func(t *record.Trial) { t.CPU.Client.System, t.Status = 0.97, record.Failed }, Limit{}},
	} {
		if got := streamOf(c.change).limit(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestSoftirqOnAnotherCPUInEachTrial has senders that are given another CPU in the second trial, as pods are.
func TestSoftirqOnAnotherCPUInEachTrial(t *testing.T) {
	on := func(n int) *record.Trial {
		return streamOf(func(t *record.Trial) {
			t.CPU.Client.System, t.CPU.Client.CPUs, t.CPU.Machine.PerCPU[n].Softirq = 0.97, []int{n}, 0.6
		}).trials[0]
	}
	s := series{cell: on(0).Cell, trials: []*record.Trial{on(0), on(2)}}
	if got, want := s.limit(), (Limit{By: LimitSender, Softirq: 0.6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSoftirqBesideUnreadMachine has a second trial in which the machine was read too late.
func TestSoftirqBesideUnreadMachine(t *testing.T) {
	s := streamOf(func(t *record.Trial) { t.CPU.Machine.PerCPU[2] = record.CPUSample{CPU: 2, Softirq: 0.95, Idle: 0.02} })
	s.trials = append(s.trials, streamOf(func(t *record.Trial) { t.CPU.Machine = record.MachineCPU{PerCPU: []record.CPUSample{}} }).trials...)
	if got, want := s.limit(), (Limit{By: LimitSoftirq, CPU: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
