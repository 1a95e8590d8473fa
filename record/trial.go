package record

import (
	"strconv"
	"time"
)

// Status is the outcome of a trial.
type Status string

const (
	OK      Status = "ok"      // measured, and the path proved
	Skipped Status = "skipped" // cannot run here; Reason gives the cause, Remedy the fix
	Failed  Status = "failed"  // broke; Reason gives the cause
	Invalid Status = "invalid" // ran, but not over the intended path, or with another congestion control than it should have: its figures must not be used
)

// Trial is one line of a run file: one cell, measured once. A baseline can have several in one round, which differ in
// Part: each cell is compared with that of its own part.
type Trial struct {
	Type    string            `json:"type"`
	Cell    Cell              `json:"cell"`
	Round   int               `json:"round" most:"1e6"`          // from 1; trials of one round are paired
	Part    int               `json:"part,omitempty" most:"1e6"` // from 1, if the baseline was measured in several parts of the round; 0 otherwise
	Order   int               `json:"order"`                     // place in the round, from 1
	Started time.Time         `json:"started"`
	Elapsed float64           `json:"elapsed_s" most:"1e9"` // in total: building, proving, measuring
	Status  Status            `json:"status"`
	Reason  string            `json:"reason,omitempty"`
	Remedy  string            `json:"remedy,omitempty"`
	Window  float64           `json:"window_s,omitempty" most:"1e9"` // measured, common to all flows
	Metrics map[string]Metric `json:"metrics,omitempty"`

	Latency   *Histogram        `json:"latency,omitempty"`
	Course    *Course           `json:"course,omitempty"`
	Slices    []Slice           `json:"slices,omitempty"`  // the parts of the window, if its network took turns with others
	Covered   float64           `json:"covered,omitempty"` // share of the flows' time in the window in which a transaction of Latency was under way; 0 if unknown, or if transactions are not consecutive
	Flows     []Flow            `json:"flows,omitempty"`
	CPU       *CPUUse           `json:"cpu,omitempty"`
	Counters  map[string]uint64 `json:"counters,omitempty"` // deltas that are not zero, by "<endpoint or host>/<counter>"
	Path      []Hop             `json:"path,omitempty"`
	Endpoints []Endpoint        `json:"endpoints,omitempty"`
	Warnings  []Warning         `json:"warnings,omitempty"`
	Clocks    *Clocks           `json:"clocks,omitempty"`   // if the endpoints may be on different machines, and the tool reports it
	Settle    *Settle           `json:"settle,omitempty"`   // of the network, with the first trial after it was built
	InForce   *InForce          `json:"in_force,omitempty"` // likewise, if it was measured
}

// Clocks describes how the clocks of the endpoints were compared, so that the window is at the same time at all of them.
type Clocks struct {
	Bound float64 `json:"bound_s" most:"1e9"` // how many seconds apart the clocks of two ends that talk can be at most
	Over  string  `json:"over"`               // by which way: OverNetwork or OverControl
}

// Ways by which clocks are compared.
const (
	OverNetwork = "network" // the measured network
	OverControl = "control" // the connections of nettoll itself to the agents
)

// Settle describes what a network does by itself after it has been built, until it is silent.
type Settle struct {
	Wait    float64  `json:"wait_s" most:"1e9"` // until it was silent, from when it was first watched: all networks of its group had been built by then
	CPU     *float64 `json:"cpu_s,omitempty"`   // CPU seconds of the machine until then, beyond its idle use; nil if it was built on other machines, for which older files have 0
	Packets uint64   `json:"packets"`           // packets over devices of its hosts until then
	Silent  bool     `json:"silent"`            // there were no more packets, though CPUs may still have been busy; false if the wait ended before
	// Activity in the last observation.
	RestPackets float64  `json:"rest_packets_s"`
	RestCPU     *float64 `json:"rest_cpu_s_s,omitempty"` // CPU seconds per second of the machine, beyond its idle use; see CPU
}

// InForce says how long it took until what was made last for a network had an effect: from when the API server had accepted it
// until the first greeting passed, in seconds. 0 means that it was not measured.
type InForce struct {
	Service float64 `json:"service_s,omitempty" most:"1e9"` // of Kubernetes, made after all further ones
	Policy  float64 `json:"policy_s,omitempty" most:"1e9"`  // a NetworkPolicy that admits everything, made after all further ones
}

// Histogram holds latencies in nanoseconds.
type Histogram struct {
	Encoded string `json:"hdr_v2"` // HdrHistogram V2, compressed, base64
	Count   int64  `json:"count"`
	Min     int64  `json:"min_ns"`
	P50     int64  `json:"p50_ns"`
	P90     int64  `json:"p90_ns"`
	P99     int64  `json:"p99_ns"`
	P999    int64  `json:"p999_ns"`
	Max     int64  `json:"max_ns"`

	Unfinished int64 `json:"unfinished,omitempty"` // how many of Count had not ended: their latency is at least the value counted
}

// Course is what all flows together received or finished in each part of the window. The parts have equal lengths.
type Course struct {
	Bytes        []uint64  `json:"bytes,omitempty"`
	Transactions []float64 `json:"transactions,omitempty"` // a transaction across parts is divided between them
}

// Slice is one of the windows of a trial, between the turns of other networks.
type Slice struct {
	At           float64 `json:"at_s" most:"1e9"`        // when it opened, in seconds since the first slice of all networks that are compared in the round
	Window       float64 `json:"window_s" most:"1e9"`    // its length
	Bytes        uint64  `json:"bytes,omitempty"`        // received within it
	Transactions uint64  `json:"transactions,omitempty"` // ended within it
	// CPU seconds that the machine used for it, beyond what it uses when idle: about 0 and even less where it was less idle then;
	// nil if that is not known, as where it was read too late.
	CPU *float64 `json:"cpu_s,omitempty" least:"-1e9" most:"1e9"`
}

// Flow is one connection, as seen by its receiver (bytes) or client (transactions).
type Flow struct {
	Client       string   `json:"client"`
	Server       string   `json:"server"`
	Stream       int      `json:"stream"`
	Bytes        uint64   `json:"bytes,omitempty"`         // received within the window
	Transactions uint64   `json:"transactions,omitempty"`  // ended within the window
	TCP          *TCPInfo `json:"tcp,omitempty"`           // of the sender, at the end
	Message      int      `json:"message_bytes,omitempty"` // bytes per write of a stream, if the tool reports it
}

// TCPInfo is the kernel's information about a connection at its end.
type TCPInfo struct {
	Retransmits uint32 `json:"retransmits"` // segments, whole connection
	RTT         uint32 `json:"rtt_us"`
	RTTVar      uint32 `json:"rttvar_us"`
	Cwnd        uint32 `json:"cwnd_segments"`
	SndMSS      uint32 `json:"snd_mss"`
	RcvMSS      uint32 `json:"rcv_mss"`
	PMTU        uint32 `json:"pmtu"`
	Congestion  string `json:"congestion"`
	// Microseconds over the whole connection: Busy is the time in which it had something to send;
	// WindowLimited and BufferLimited are the parts of it in which the receiver's window, or its own
	// send buffer, kept it from sending. 0 can also mean not known.
	Busy          uint64 `json:"busy_us,omitempty"`
	WindowLimited uint64 `json:"rwnd_limited_us,omitempty"`
	BufferLimited uint64 `json:"sndbuf_limited_us,omitempty"`
}

// CPUUse is the CPU time used in the window, by who used it.
type CPUUse struct {
	Client  ProcessCPU   `json:"client"`
	Server  ProcessCPU   `json:"server"`
	Daemons []ProcessCPU `json:"daemons,omitempty"` // user-space datapath
	Resting *Resting     `json:"resting,omitempty"` // for a trial in turns, if the network has daemons
	Machine MachineCPU   `json:"machine"`
	Idle    float64      `json:"idle_cpu_s_s"`                        // CPU seconds per second of the idle machine, measured before
	Watched float64      `json:"idle_watched_s,omitempty" most:"1e9"` // seconds over which Idle was measured; trials of a round share them, unless other machines are watched

	Containers []ContainerCPU `json:"containers,omitempty"` // as counted by their control groups, on platforms that have them
	Hosts      []HostCPU      `json:"hosts,omitempty"`      // of hosts that are separate machines, if there are several

	// NodeDaemons are those of the nodes of a cluster, if somebody may see them. They serve all networks of the cluster, also
	// without traffic: part of Machine and Hosts, and not of Processes.
	NodeDaemons []DaemonCPU `json:"node_daemons,omitempty"`
}

// Processes returns the CPU time of the processes of the traffic: clients, servers and daemons.
func (u CPUUse) Processes() float64 {
	return u.Client.Total() + u.Server.Total() + Sum(u.Daemons, ProcessCPU.Total)
}

// Resting is the cost of a network without traffic: the CPU time of its
// daemons while other networks had their turns.
type Resting struct {
	Watched float64 `json:"watched_s" most:"1e9"` // seconds of those turns
	CPU     float64 `json:"cpu_s"`                // of all daemons together
}

// HostCPU is the CPU time of a host that is a separate machine. It is not known where that of all machines is not; see MachineCPU.
type HostCPU struct {
	Host string  `json:"host"` // as named by its endpoints
	Busy float64 `json:"busy_s"`
	Idle float64 `json:"idle_cpu_s_s"` // CPU seconds per second of the idle machine, measured before
}

// DaemonCPU is the CPU time of all processes of one name on a host.
type DaemonCPU struct {
	Name string  `json:"name"`
	Host string  `json:"host,omitempty"` // empty: several
	CPU  float64 `json:"cpu_s"`
}

// ContainerCPU is the CPU time of all processes of one container, including those of client or server.
type ContainerCPU struct {
	Name string  `json:"name"`
	CPU  float64 `json:"cpu_s"`
}

// ProcessCPU is the CPU time of one process (or of all processes of one role).
type ProcessCPU struct {
	Name   string  `json:"name,omitempty"`
	Host   string  `json:"host,omitempty"` // where it ran; empty if unknown, or several
	User   float64 `json:"user_s"`
	System float64 `json:"system_s"`
	CPUs   []int   `json:"cpus,omitempty"` // where it was allowed to run; empty means anywhere
}

// Total returns user and system time in seconds.
func (p ProcessCPU) Total() float64 { return p.User + p.System }

// MachineCPU is the CPU time of the whole machine in the window.
type MachineCPU struct {
	Busy    float64     `json:"busy_s"`               // everything but idle, iowait, steal and what nettoll's own process used
	Clock   string      `json:"idle_clock,omitempty"` // source of idle time: "timer_list" (ns), "cpuidle" (µs) or "stat" (10 ms; also if absent)
	Softirq float64     `json:"softirq_s"`            // as the kernel counts it, in ticks
	Steal   float64     `json:"steal_s"`
	PerCPU  []CPUSample `json:"per_cpu"`
}

// ClockStat is the coarsest source of idle time, in ticks of 10 ms.
const ClockStat = "stat"

// Fine reports whether Busy is known to much less than a tick.
func (m MachineCPU) Fine() bool { return m.Clock != "" && m.Clock != ClockStat }

// Known reports whether the machine was read in time. (Older files do not list CPUs.)
func (m MachineCPU) Known() bool { return len(m.PerCPU) > 0 || m.Busy > 0 }

// CPUSample is the time of one CPU in the window, in seconds.
type CPUSample struct {
	Host    string  `json:"host,omitempty"` // of several machines, as in HostCPU; also empty in older files
	CPU     int     `json:"cpu"`
	User    float64 `json:"user_s"`
	System  float64 `json:"system_s"`
	Softirq float64 `json:"softirq_s"`
	IRQ     float64 `json:"irq_s"`
	Steal   float64 `json:"steal_s"`
	Idle    float64 `json:"idle_s"`
}

// Hop is one element of the path, with its traffic during the trial.
type Hop struct {
	Name    string `json:"name"`             // "<where>/<what>", for example "h1/br0"
	Kind    string `json:"kind"`             // "device", "rule", "connection" or "process"
	Packets uint64 `json:"packets"`          // since before the connections were made
	Bytes   uint64 `json:"bytes"`            // 0 if the hop counts no bytes
	Need    uint64 `json:"need"`             // least number of Unit
	Unit    string `json:"unit"`             // "bytes" or "packets"
	Absent  bool   `json:"absent,omitempty"` // the payload must not cross it: Need is an upper bound
	OK      bool   `json:"ok"`
	// Fewer is of Unit, in the direction in which fewer crossed: then Need is of each direction. It is there if it was too few.
	Fewer *uint64 `json:"fewer,omitempty"`
	About string  `json:"about,omitempty"` // what the device is, of one that was found by its counters, or whose payload IP has counted
}

// Endpoint holds what can make one end of a trial differ from another's.
type Endpoint struct {
	Name     string            `json:"name"`
	Role     string            `json:"role"`           // "client" or "server"
	Host     string            `json:"host,omitempty"` // its host, if known
	Address  string            `json:"address"`
	Device   string            `json:"device"`
	Open     bool              `json:"open,omitempty"`      // its network is that of a machine of the user's, whose devices are not changed
	Platform string            `json:"platform,omitempty"`  // what the endpoint's platform reports about itself, for example an engine's version
	Driver   string            `json:"driver"`              // kind of the device, as the kernel names it
	MTU      int               `json:"mtu"`                 // of the device, in bytes
	RouteMTU int               `json:"route_mtu,omitempty"` // that the route to its peer has of its own, as CNI plugins with tunnels give it; 0: none
	Qdisc    string            `json:"qdisc"`
	Offloads map[string]bool   `json:"offloads,omitempty"` // tso, gso, gro, tx-checksum, rx-checksum …
	Sysctls  map[string]string `json:"sysctls,omitempty"`  // congestion control, tcp_rmem, tcp_wmem …
	CPUs     []int             `json:"cpus,omitempty"`     // CPUs it is pinned to; empty means anywhere
	Machine  *Machine          `json:"machine,omitempty"`  // what it runs on, if that may be another machine than the run's
	NIC      *NIC              `json:"nic,omitempty"`      // that machine's network card, which leads to the others

	Resources *Resources `json:"resources,omitempty"` // of its container in a user's cluster; nil if it has neither requests nor limits

	Confinement *Confinement `json:"confinement,omitempty"` // nil in older files
}

// IPMTU returns the size in bytes of the largest packets that IP sends to the peer: what the device takes, or less if the route says so.
func (e Endpoint) IPMTU() int {
	if e.Routed() {
		return e.RouteMTU
	}
	return e.MTU
}

// Routed reports whether the route to the peer limits the size of packets more than the device does.
func (e Endpoint) Routed() bool { return e.RouteMTU > 0 && e.RouteMTU < e.MTU }

// Confinement is what the kernel checks at system calls of an endpoint's processes, and how it protects them from speculation,
// in its own words (proc_pid_status(5)). Container engines filter system calls, and kernels before 5.16 turn speculation off
// for what is filtered: that costs CPU time over any network.
type Confinement struct {
	Seccomp string `json:"seccomp,omitempty"` // strict or filter; "" is none
	// Uncached is set if the filter runs for every call: kernels before 5.11 do not remember what it always allows.
	Uncached       bool   `json:"seccomp_uncached,omitempty"`
	Label          string `json:"label,omitempty"` // of AppArmor or SELinux
	StoreBypass    string `json:"store_bypass,omitempty"`
	IndirectBranch string `json:"indirect_branch,omitempty"`
}

// Resources are what a container of a cluster is given, by what it is (cpu, memory), as the API server has admitted it and writes it:
// that can be more or less than was asked for.
type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

// OwnCPUs returns the CPUs that a cluster has given to the endpoint alone, as the static policy of kubelet's CPU manager does; nil if
// it has none. They are then all CPUs that it may use, as many as its request and its limit.
func (e Endpoint) OwnCPUs() []int {
	if e.Resources == nil || e.Machine == nil {
		return nil
	}
	limit := e.Resources.Limits["cpu"]
	if n, err := strconv.Atoi(limit); err != nil || n != len(e.Machine.CPUs) || limit != e.Resources.Requests["cpu"] {
		return nil
	}
	return Each(e.Machine.CPUs, func(c CPU) int { return c.ID })
}

// NIC is the network card of a machine, or what stands for it.
type NIC struct {
	Device string `json:"device"`
	Driver string `json:"driver"`
	// Speed is the link's rate in Mbit/s; 0 is not known.
	Speed    int             `json:"speed_mbit,omitempty" most:"1e8"`
	MTU      int             `json:"mtu"`
	Receive  int             `json:"receive_queues,omitempty"`
	Transmit int             `json:"transmit_queues,omitempty"`
	Offloads map[string]bool `json:"offloads,omitempty"`
	// ReceiveRing and TransmitRing are how many packets each queue has room for; 0 is not known.
	ReceiveRing  int       `json:"receive_ring,omitempty"`
	TransmitRing int       `json:"transmit_ring,omitempty"`
	Coalesce     *Coalesce `json:"coalesce,omitempty"` // nil is not known
	// Interrupts are the CPUs that may handle each of its interrupts, and RPS those to which each receive queue
	// passes packets on, as the kernel writes lists and masks, each value once. Neither is set where sysfs does
	// not show this device.
	Interrupts []string `json:"interrupts,omitempty"`
	RPS        []string `json:"rps,omitempty"`
	// Near are the CPUs of its NUMA node; nil if all CPUs are, or if it is not known.
	Near []int `json:"near_cpus,omitempty"`
}

// Coalesce is how long a network card waits for more packets before it interrupts a CPU: until a time in µs has passed or a number
// of packets is there, as ethtool -c shows them; 0 is no limit of that kind. An adaptive card chooses them itself all the time,
// and they are 0 here.
type Coalesce struct {
	AdaptiveRx bool `json:"adaptive_rx,omitempty"`
	AdaptiveTx bool `json:"adaptive_tx,omitempty"`
	RxUsecs    int  `json:"rx_usecs"`
	RxFrames   int  `json:"rx_frames"`
	TxUsecs    int  `json:"tx_usecs"`
	TxFrames   int  `json:"tx_frames"`
}

// Rate returns the link's rate as text.
func (n NIC) Rate() string {
	switch {
	case n.Speed == 0:
		return "unknown"
	case n.Speed%1000 == 0:
		return strconv.Itoa(n.Speed/1000) + " Gbit/s"
	}
	return strconv.Itoa(n.Speed) + " Mbit/s"
}
