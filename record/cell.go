package record

import (
	"cmp"
	"fmt"
	"strings"
)

// Names that appear in cells.
const (
	TCPStream        = "tcp_stream"         // one way, as fast as it goes
	TCPBidir         = "tcp_bidir"          // both ways at once
	TCPRR            = "tcp_rr"             // request and response, one after the other
	TCPCRR           = "tcp_crr"            // the same with a connection for each
	UDPStream        = "udp_stream"         // datagrams one way, paced or as fast as it goes
	UDPRR            = "udp_rr"             // request and response in datagrams
	PacedRR          = "paced_rr"           // requests at a given rate, whether or not responses keep up
	LatencyUnderLoad = "latency_under_load" // tcp_rr while a stream fills the path
	HTTP             = "http"               // requests of a web client to a web server
	Redis            = "redis"              // commands to a Redis server
	Postgres         = "postgres"           // transactions of pgbench on a PostgreSQL server

	PlacementSame     = "same"     // client and server share one CPU
	PlacementDistinct = "distinct" // different CPUs of one package
	PlacementFree     = "free"     // wherever the scheduler puts them
)

// Cell is one thing that is measured again and again: a network, a workload
// over it, and everything that could make two of its trials differ on purpose.
// Two trials with equal cells are repeats of each other.
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
	Underlay  string  `json:"underlay,omitempty"`      // shaping, as written, or the name of an instance; empty is none
	Twin      int     `json:"twin,omitempty" most:"2"` // self-check: 1 or 2, the same network measured as if it were two
	Baseline  string  `json:"baseline,omitempty"`      // network that it is compared with; empty is that of Native

	Processes  int    `json:"processes,omitempty" most:"1e6"`  // clients in each client container; 0 is 1, and 1 is written as 0
	Neighbours int    `json:"neighbours,omitempty" most:"1e6"` // containers that exist beside those that talk
	Rules      int    `json:"rules,omitempty" most:"1e6"`      // further firewall rules on each host, none of which matches
	MTU        int    `json:"mtu,omitempty"`                   // of the underlay, in bytes; 0 is 1500
	Offload    string `json:"offload,omitempty"`               // OffloadOff; empty is as the kernel has it
	Normalize  bool   `json:"normalize,omitempty"`             // endpoints have MTU and offloads that every network can offer
}

// Options are the parameters of a workload. Zero means the tool's default.
type Options struct {
	Streams      int    `json:"streams,omitempty" most:"1e6"` // -P, flows of each client
	MessageSize  int    `json:"message_size,omitempty"`       // -l, bytes a write or read
	Window       int    `json:"window,omitempty"`             // -w, socket buffer in bytes
	Congestion   string `json:"congestion,omitempty"`         // -C
	ZeroCopy     bool   `json:"zero_copy,omitempty"`          // -Z, sendfile
	SkipRxCopy   bool   `json:"skip_rx_copy,omitempty"`       // receiver discards in the kernel
	RequestSize  int    `json:"request_size,omitempty"`       // bytes
	ResponseSize int    `json:"response_size,omitempty"`      // bytes
	Bandwidth    int    `json:"bandwidth,omitempty"`          // -b, payload bit/s that each flow offers; 0 is as fast as it goes
	Rate         int    `json:"rate,omitempty"`               // transactions a second that each flow offers
	Reverse      bool   `json:"reverse,omitempty"`            // -R, the server sends
	NoKeepAlive  bool   `json:"no_keep_alive,omitempty"`      // a connection for each request
	GSO          bool   `json:"gso,omitempty"`                // datagrams are handed over in batches (UDP_SEGMENT, UDP_GRO)
}

// Datagram is the payload of a datagram of udp_stream for which no message size is
// given, in bytes: of every tool the same, so that they can be compared, and small
// enough for tunnels not to fragment it.
const Datagram = 1400

// MachinesOwn is the congestion control that the machine has by itself.
const MachinesOwn = "machine"

// OffloadOff is a Cell's Offload without segmentation, receive merging and
// checksums by devices.
const OffloadOff = "off"

// Pairs is how many clients there are: processes in all containers.
func (c Cell) Pairs() int { return c.Clients * max(c.Processes, 1) }

// escape keeps texts of cells from being taken for the structure of their key.
// The placement is the last part of a key without "=", and has none itself.
var escape = strings.NewReplacer("%", "%25", "/", "%2F").Replace

// Key is a stable text that is equal for equal cells only.
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

// Scenario is the cell without its network: cells of one scenario are
// comparable with each other, and with the native cell of that scenario. Its
// baseline stays: cells that are compared with different networks are of
// different scenarios.
func (c Cell) Scenario() Cell {
	c.Network, c.Twin = "", 0
	return c
}

// ClosedLoop reports whether transactions begin when the one before has ended, and not
// when they are due.
func (c Cell) ClosedLoop() bool {
	switch c.Workload {
	case TCPRR, UDPRR, TCPCRR, HTTP, Redis, Postgres, LatencyUnderLoad:
		return c.Options.Rate == 0
	}
	return false
}

// Native names the network that a cell of so many hosts is compared with unless it
// names another: the same traffic between the same hosts with no container network
// at all.
func Native(hosts int) string {
	if hosts == 1 {
		return "host"
	}
	return "native"
}

// Native names the network that the cell is compared with.
func (c Cell) Native() string { return cmp.Or(c.Baseline, Native(c.Hosts)) }

// Against is the cell that c is compared with: for a cell of a self-check the first
// twin of the same network, for any other the baseline of its scenario.
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
