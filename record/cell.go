package record

import (
	"cmp"
	"fmt"
	"strings"
)

// Names that appear in cells.
const (
	TCPStream        = "tcp_stream"         // one way, as fast as possible
	TCPBidir         = "tcp_bidir"          // both ways at once
	TCPRR            = "tcp_rr"             // request and response, one after the other
	TCPCRR           = "tcp_crr"            // the same with a new connection for each
	UDPStream        = "udp_stream"         // datagrams one way, paced or as fast as possible
	UDPRR            = "udp_rr"             // request and response in datagrams
	PacedRR          = "paced_rr"           // requests at a given rate, whether or not responses keep up
	LatencyUnderLoad = "latency_under_load" // tcp_rr while a stream fills the path
	HTTP             = "http"               // requests of a web client to a web server
	Redis            = "redis"              // commands to a Redis server
	Postgres         = "postgres"           // transactions of pgbench on a PostgreSQL server

	PlacementSame     = "same"     // client and server share one CPU
	PlacementDistinct = "distinct" // different CPUs of one package
	PlacementFree     = "free"     // chosen by the scheduler
)

// Cell is what is measured repeatedly: a network, a workload over it, and everything that could
// make two of its trials differ on purpose. Two trials with equal cells are repeats of each other.
type Cell struct {
	Network   string  `json:"network"` // [platform:]name
	Hosts     int     `json:"hosts" most:"1e6"`
	Family    int     `json:"family"` // 4 or 6
	Servers   int     `json:"servers" most:"1e6"`
	Clients   int     `json:"clients" most:"1e6"`
	Tool      string  `json:"tool"`
	Workload  string  `json:"workload"`
	Options   Options `json:"options"`
	Placement string  `json:"placement"`
	Underlay  string  `json:"underlay,omitempty"`      // shaping, as written, or the name of an instance; empty means none
	Twin      int     `json:"twin,omitempty" most:"2"` // self-check: 1 or 2, the same network measured as if it were two
	Baseline  string  `json:"baseline,omitempty"`      // network that it is compared with; empty means that of Native

	Processes int `json:"processes,omitempty" most:"1e6"` // clients in each client container; 0 means 1, and 1 is written as 0
	Setup
	MTU       int    `json:"mtu,omitempty"`       // of the underlay, in bytes; 0 means 1500
	Offload   string `json:"offload,omitempty"`   // OffloadOff; empty means the kernel's default
	Normalize bool   `json:"normalize,omitempty"` // endpoints have an MTU that every network can offer
}

// Setup has the conditions that a network and its hosts are built with, except for their underlay. The fields are part of
// the cell, and of the topology that drivers get.
type Setup struct {
	Neighbours int    `json:"neighbours,omitempty" most:"1e6"` // idle containers on the clients' hosts, in addition to those with traffic
	Rules      int    `json:"rules,omitempty" most:"1e6"`      // further firewall rules on each host, none of which matches
	Services   int    `json:"services,omitempty" most:"1e6"`   // further services of Kubernetes, which nobody uses, in networks that have services
	Policies   int    `json:"policies,omitempty" most:"1e6"`   // network policies of Kubernetes that admit none of the clients, in networks of pods
	CNI        string `json:"cni,omitempty"`                   // what connects the pods of a private cluster, such as CNIFlannel; empty means CNIBridge
}

// Options are the parameters of a workload. Zero means the tool's default.
type Options struct {
	Streams      int    `json:"streams,omitempty" most:"1e6"` // -P, flows per client
	MessageSize  int    `json:"message_size,omitempty"`       // -l, bytes per write or read
	Window       int    `json:"window,omitempty"`             // -w, socket buffer in bytes
	Congestion   string `json:"congestion,omitempty"`         // -C
	ZeroCopy     bool   `json:"zero_copy,omitempty"`          // -Z, sendfile
	SkipRxCopy   bool   `json:"skip_rx_copy,omitempty"`       // receiver discards data in the kernel
	RequestSize  int    `json:"request_size,omitempty"`       // bytes
	ResponseSize int    `json:"response_size,omitempty"`      // bytes
	Bandwidth    int    `json:"bandwidth,omitempty"`          // -b, payload bit/s offered by each flow; 0 means as fast as possible
	Rate         int    `json:"rate,omitempty"`               // transactions per second offered by each flow
	Reverse      bool   `json:"reverse,omitempty"`            // -R, the server sends
	NoKeepAlive  bool   `json:"no_keep_alive,omitempty"`      // a new connection for each request
	GSO          bool   `json:"gso,omitempty"`                // datagrams are passed to and from the kernel in batches (UDP_SEGMENT, UDP_GRO)
}

// MaxDatagram is the most payload that UDP carries over IPv4, in bytes.
const MaxDatagram = 65507

// Datagram is the payload of a datagram of udp_stream if no message size is given, in bytes: the same
// for every tool, so that they can be compared, and small enough not to be fragmented where the underlay's
// MTU is 1500: by a tunnel over IPv6, such as WireGuard's, or where endpoints are made alike.
const Datagram = 1300

// MachinesOwn stands for the default congestion control of the machine.
const MachinesOwn = "machine"

// What connects the pods of clusters that nettoll starts. A cell's CNI is empty for CNIBridge.
const (
	CNIBridge  = "bridge"  // CNI's bridge plugin, with plain routes between nodes
	CNIFlannel = "flannel" // flannel, with VXLAN between nodes
	CNICalico  = "calico"  // Calico's CNI plugin and felix, with plain routes between nodes
)

// OffloadOff is a Cell's Offload without segmentation, receive merging and
// checksums by devices.
const OffloadOff = "off"

// Pairs returns the number of clients: processes in all containers.
func (c Cell) Pairs() int { return c.Clients * max(c.Processes, 1) }

// escape prevents the text of a cell's fields from being taken for the structure of its
// key. The placement is the last part of a key without "=", and contains none itself.
var escape = strings.NewReplacer("%", "%25", "/", "%2F").Replace

// Key returns a stable text that is equal for equal cells only.
func (c Cell) Key() string {
	var b strings.Builder
	tool, placement := strings.ReplaceAll(escape(c.Tool), ":", "%3A"), strings.ReplaceAll(escape(c.Placement), "=", "%3D")
	fmt.Fprintf(&b, "%s/hosts=%d/ipv%d/%dx%d/%s:%s", escape(c.Network), c.Hosts, c.Family, c.Servers, c.Clients, tool, escape(c.Workload))
	for _, d := range dimensions {
		switch {
		case d.Name == "placement":
			b.WriteString("/" + placement)
		case d.key == inHead || !d.IsSet(c):
		default:
			b.WriteString(d.inKey(c))
		}
	}
	return b.String()
}

// Scenario returns the cell without its network: cells of one scenario are comparable
// with each other, and with the native cell of that scenario. Its baseline stays:
// cells that are compared with different networks belong to different scenarios.
func (c Cell) Scenario() Cell {
	c.Network, c.Twin = "", 0
	return c
}

// ClosedLoop reports whether each transaction begins when the one before
// has ended, rather than at a scheduled time.
func (c Cell) ClosedLoop() bool {
	switch c.Workload {
	case TCPRR, UDPRR, TCPCRR, HTTP, Redis, Postgres, LatencyUnderLoad:
		return c.Options.Rate == 0
	}
	return false
}

// Native returns the name of the network that a cell with this number of hosts is compared with
// unless it names another: the same traffic between the same hosts with no container network at all.
func Native(hosts int) string {
	if hosts == 1 {
		return "host"
	}
	return "native"
}

// Native returns the name of the network that the cell is compared with.
func (c Cell) Native() string { return cmp.Or(c.Baseline, Native(c.Hosts)) }

// Against returns the cell that c is compared with: for a cell of a self-check
// the first twin of the same network, for any other the baseline of its scenario.
func (c Cell) Against() Cell {
	if c.Twin != 0 {
		c.Twin = 1
		return c
	}
	c.Network = c.Native()
	return c
}

// IsNative reports whether the cell is the baseline of its scenario.
func (c Cell) IsNative() bool {
	if c.Twin != 0 {
		return c.Twin == 1
	}
	return c.Network == c.Native()
}

// LeastRounds returns the least number of rounds in which any difference can be shown
// at a level, corrected for the number of comparisons. The smallest p-value that the
// signed-rank test of n pairs attains is 2/2ⁿ, for n differences of one sign; times the
// number of comparisons (Bonferroni, and Holm's first step) it must be below 1−level.
func LeastRounds(comparisons int, level float64) int {
	n := 1
	for p := float64(max(1, comparisons)); p >= 1-level && n < 64; p /= 2 {
		n++
	}
	return n
}

// GiveUp is how many rounds in a row a cell may fail in; after that it is not tried any more.
const GiveUp = 3

// Comparisons returns how many of the cells are compared with another of them: the
// primary comparisons of a run, each in the metric that its cell is ranked by.
func Comparisons(cells []Cell) int {
	among := map[Cell]bool{}
	for _, c := range cells {
		among[c] = true
	}
	return len(Those(cells, func(c Cell) bool { return !c.IsNative() && among[c.Against()] }))
}
