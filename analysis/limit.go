package analysis

import (
	"cmp"
	"maps"
	"slices"

	"nettoll/record"
)

// Limits of a stream.
const (
	LimitSender    = "sender"    // the CPUs available to the sending processes
	LimitReceiver  = "receiver"  // the CPUs available to the receiving processes
	LimitBoth      = "both"      // the CPUs of both
	LimitSoftirq   = "softirq"   // a CPU on which the kernel handles packets without charging a process
	LimitLink      = "link"      // the rate of the underlay
	LimitWindow    = "window"    // the receiver's window, or the sender's buffer
	LimitGenerator = "generator" // the programs themselves, in user space
)

// Limit is what keeps a stream from being faster; By is empty if that is not known.
type Limit struct {
	By string
	// CPU is the CPU of LimitSoftirq. If the ends are on different machines, End is the end whose
	// machine has that CPU, LimitSender or LimitReceiver, if that is known.
	CPU int
	End string
	// Softirq is the share of softirq in the time of the limiting process's CPU, if the process
	// had that CPU alone and softirqTicks of softirq were counted on it; 0 means not known.
	Softirq float64
}

// Shares from which a resource counts as used up. A process alone on its CPU gets 0.97 to 1 of it, since
// ticks and other threads take some; the rate of a shaped link includes headers, 3 to 5 % of the packets.
const (
	usedUp     = 0.9
	ofLink     = 0.9
	ofTime     = 0.25 // of the time in which a connection had something to send, if nothing else is used up: the kernel counts in ticks
	ofUser     = 0.25
	ofSoftirq  = 0.5
	tickLength = 0.01 // seconds: the unit in which the kernel counts softirq
	// softirqTicks is the least number of ticks that is meaningful: 20 are known to within a quarter.
	softirqTicks = 20
)

// limit returns what limits a stream in one direction, from all OK trials together.
func (s series) limit() Limit {
	c := s.cell
	if c.Workload != record.TCPStream && c.Workload != record.UDPStream || c.Options.Bandwidth > 0 {
		return Limit{}
	}
	var window, bytes float64
	var read float64 // the part of the window in which the machine is known, too
	var sender, receiver process
	perCPU := map[cpu]record.CPUSample{}
	untold := false           // whose CPUs those of several machines are: in trials of an older version
	var busy, stalled float64 // of connections, in microseconds
	for _, t := range s.ok() {
		if t.CPU == nil || t.Window <= 0 {
			continue
		}
		window += t.Window
		from, to := "client", "server"
		if c.Options.Reverse {
			from, to = to, from
		}
		if t.CPU.Machine.Known() {
			read += t.Window
		}
		apart := len(t.CPU.Hosts) > 0
		sender.add(t, from)
		receiver.add(t, to)
		for _, one := range t.CPU.Machine.PerCPU {
			untold = untold || apart && one.Host == ""
			at := cpu{one.Host, one.CPU}
			sum := perCPU[at]
			sum.Softirq += one.Softirq
			sum.Idle += one.Idle
			perCPU[at] = sum
		}
		for _, f := range t.Flows {
			bytes += float64(f.Bytes)
			if f.TCP != nil {
				busy += float64(f.TCP.Busy)
				stalled += float64(f.TCP.WindowLimited + f.TCP.BufferLimited)
			}
		}
	}
	if window == 0 {
		return Limit{}
	}
	if untold {
		clear(perCPU)
	}
	flows := c.Pairs() * max(c.Options.Streams, 1)
	sending, receiving := sender.share(window, flows), receiver.share(window, flows)
	rate, shaped := shapedRate(c)
	if !shaped {
		rate, shaped = s.linkRate(bytes * 8 / window)
	}
	switch {
	case sending >= usedUp && sender.user >= ofUser*sender.total, receiving >= usedUp && receiver.user >= ofUser*receiver.total:
		return Limit{By: LimitGenerator}
	case shaped && bytes*8/window >= ofLink*rate:
		return Limit{By: LimitLink}
	case sending >= usedUp && receiving >= usedUp:
		return Limit{By: LimitBoth}
	case sending >= usedUp:
		return Limit{By: LimitSender, Softirq: sender.softirq(read)}
	case receiving >= usedUp:
		return Limit{By: LimitReceiver, Softirq: receiver.softirq(read)}
	}
	for _, at := range slices.SortedFunc(maps.Keys(perCPU), cpu.compare) {
		sum := perCPU[at]
		if sum.Softirq >= ofSoftirq*read && sum.Softirq >= softirqTicks*tickLength && sum.Idle <= (1-usedUp)*read {
			return Limit{By: LimitSoftirq, CPU: at.number, End: endOn(at.host, sender, receiver)}
		}
	}
	if busy > 0 && stalled >= ofTime*busy {
		return Limit{By: LimitWindow}
	}
	return Limit{}
}

// cpu is a CPU of a machine. The host is empty if there is only one machine.
type cpu struct {
	host   string
	number int
}

func (c cpu) compare(o cpu) int {
	return cmp.Or(cmp.Compare(c.host, o.host), cmp.Compare(c.number, o.number))
}

// endOn returns which end is on one of several machines, if a single machine has all of that end's processes.
func endOn(host string, sender, receiver process) string {
	switch {
	case host == "":
		return ""
	case host == sender.host:
		return LimitSender
	case host == receiver.host:
		return LimitReceiver
	}
	return ""
}

// process is the CPU use of all processes of a role over several trials.
type process struct {
	user, total float64 // CPU seconds
	serving     float64 // seconds of softirq on the CPU that they had alone, which need not be the same in all trials
	cpus        []int   // of each machine that has any of them
	room        int     // how many CPUs these are together; 0: any
	host        string  // the one of several machines that has all of them; empty if there is only one machine, or not known
}

// add adds a trial.
func (p *process) add(t *record.Trial, role string) {
	one := t.CPU.Client
	if role == "server" {
		one = t.CPU.Server
	}
	p.user += one.User
	p.total += one.Total()
	machines := 1
	p.cpus, p.host = one.CPUs, ""
	if len(t.CPU.Hosts) > 0 {
		machines, p.host = len(t.CPU.Hosts), one.Host
		if hosts, known := hostsOf(t, func(e record.Endpoint) bool { return e.Role == role }); known {
			machines = len(hosts)
		}
	}
	p.room = len(p.cpus) * machines
	if own := record.Sum(t.Endpoints, func(e record.Endpoint) int {
		if e.Role != role {
			return 0
		}
		return len(e.OwnCPUs())
	}); own > 0 {
		p.room = own
	}
	for _, at := range t.CPU.Machine.PerCPU {
		untold := len(t.CPU.Hosts) > 0 && at.Host == ""
		if len(p.cpus) == 1 && at.CPU == p.cpus[0] && at.Host == p.host && !untold {
			p.serving += at.Softirq
		}
	}
}

// share is the share that the processes used of the CPUs that they can
// have at once: one per flow, but no more than they are pinned to.
func (p process) share(window float64, flows int) float64 {
	most := flows
	if p.room > 0 {
		most = min(most, p.room)
	}
	return p.total / (window * float64(max(1, most)))
}

// softirq is the share of softirq in the time of the process's CPU, if it has one alone.
func (p process) softirq(read float64) float64 {
	if len(p.cpus) != 1 || p.serving < softirqTicks*tickLength {
		return 0
	}
	return min(1, p.serving/read)
}

// shapedRate returns the rate of the shaped link that all of a stream crosses, in bit/s: that of the server's host, which all
// clients have in common. On one host, nothing crosses it.
func shapedRate(c record.Cell) (bits float64, shaped bool) {
	bits = float64(shapeOf(c.Underlay).Rate)
	return bits, bits > 0 && c.Hosts > 1
}

// linkRate returns the rate of the network cards between the machines of the last trial, in bit/s, if it is known: that of
// all machines of clients together, or of servers, whichever is less. It is not known if they carried more than their
// rate, as virtual cards can, which have no real one.
func (s series) linkRate(carried float64) (bits float64, ok bool) {
	ends, _ := s.lastSetup()
	counted, rates := map[[2]string]bool{}, map[string]float64{}
	for _, e := range ends {
		if e.NIC == nil || e.NIC.Speed == 0 || e.NIC.Driver == "veth" {
			return 0, false
		}
		if machine := [2]string{e.Role, e.Host}; !counted[machine] {
			counted[machine] = true
			rates[e.Role] += float64(e.NIC.Speed) * 1e6
		}
	}
	for _, rate := range rates {
		if bits == 0 || rate < bits {
			bits = rate
		}
	}
	return bits, bits >= carried && bits > 0
}
