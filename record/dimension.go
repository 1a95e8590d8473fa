package record

import (
	"reflect"
	"slices"
	"strconv"
)

// Dimension is something in which cells differ on purpose. Keys of cells, flags, suites,
// plans, axes of sweeps and columns of reports are made from the table of them: what is new
// is one more row, its field, and its use.
type Dimension struct {
	Name    string   // of its flag, and of its column, such as message-size; in suites with _ for -
	Short   string   // of its flag, such as l
	Title   string   // what it is, for people, such as message size
	About   string   // what is said of it as an option, in a few words
	Example string   // values of such an option, as its flag takes them
	Unit    string   // "B", "bit/s", "1/s"; "" of counts, names and switches
	Usual   int      // what a number of zero stands for, such as an MTU of 1500
	Most    int      // of a number that is an option, so that a mistyped one does not fill the memory
	Values  []string // all that it can be, where these are few names
	Open    bool     // zero can be written, too: no limit, which is what leaving it out means
	Part    Part

	takes []string          // workloads that take it; nil is all
	key   string            // of its part of a key, where that is not its name, or inHead
	field func(c *Cell) any // *int, *string or *bool
}

// Part is what a dimension belongs to.
type Part int

// The parts of a cell.
const (
	Path      Part = iota // what is connected: network, hosts, family, how many
	Traffic               // what drives what, and where
	Option                // of a workload
	Condition             // of the network's surroundings
	Beside                // what the cell is compared with
)

// MaxMessage is how many bytes a message, a request or a response can have.
const MaxMessage = 64 << 20

// inHead is what Cell.Key writes without a name.
const inHead = "-"

// Workloads that take an option.
var (
	overTCP   = []string{TCPStream, TCPBidir, TCPRR, TCPCRR, PacedRR, LatencyUnderLoad}
	ofOurs    = append(slices.Clone(overTCP), UDPStream, UDPRR)
	streaming = []string{TCPStream, TCPBidir, UDPStream, LatencyUnderLoad}
	inFlows   = []string{TCPStream, TCPBidir}
	asking    = []string{TCPRR, TCPCRR, UDPRR, PacedRR, LatencyUnderLoad}
)

// dimensions are in the order in which keys have them.
var dimensions = []Dimension{
	{Name: "network", Title: "network", Part: Path, key: inHead, field: func(c *Cell) any { return &c.Network }},
	{Name: "hosts", Title: "hosts", Part: Path, key: inHead, field: func(c *Cell) any { return &c.Hosts }},
	{Name: "family", Title: "IP version", Part: Path, key: inHead, field: func(c *Cell) any { return &c.Family }},
	{Name: "servers", Title: "servers", Part: Path, Usual: 1, key: inHead, field: func(c *Cell) any { return &c.Servers }},
	{Name: "clients", Title: "clients", Part: Path, Usual: 1, key: inHead, field: func(c *Cell) any { return &c.Clients }},
	{Name: "tool", Title: "tool", Part: Traffic, key: inHead, field: func(c *Cell) any { return &c.Tool }},
	{Name: "workload", Title: "workload", Part: Traffic, key: inHead, field: func(c *Cell) any { return &c.Workload }},
	{
		Name: "streams", Short: "P", Title: "streams of each client", Part: Option, Usual: 1, Most: 10_000,
		About: "connections of each client", Example: "1,4,16",
		key: "P", field: func(c *Cell) any { return &c.Options.Streams },
	},
	{
		Name: "message-size", Short: "l", Title: "message size", Unit: "B", Part: Option, Most: MaxMessage, takes: streaming,
		About: "bytes of a write or read of a stream", Example: "1K,128K",
		key: "l", field: func(c *Cell) any { return &c.Options.MessageSize },
	},
	{
		Name: "window", Short: "w", Title: "socket buffers", Unit: "B", Part: Option, Most: 1 << 30, takes: ofOurs,
		About: "socket buffers in bytes", Example: "256K",
		key: "w", field: func(c *Cell) any { return &c.Options.Window },
	},
	{
		Name: "request-size", Title: "request size", Unit: "B", Part: Option, Most: MaxMessage, takes: asking,
		About: "bytes of a request of tcp_rr and the like",
		key:   "req", field: func(c *Cell) any { return &c.Options.RequestSize },
	},
	{
		Name: "response-size", Title: "response size", Unit: "B", Part: Option, Most: MaxMessage, takes: append(slices.Clone(asking), HTTP),
		About: "bytes of a response of tcp_rr and the like",
		key:   "resp", field: func(c *Cell) any { return &c.Options.ResponseSize },
	},
	{
		Name: "bandwidth", Short: "b", Title: "offered rate of each flow", Unit: "bit/s", Part: Option, Most: 400e9, Open: true, takes: []string{UDPStream, TCPStream},
		About: "payload that each flow of a stream offers, in bit/s; 0 is no limit", Example: "100M,1G",
		key: "b", field: func(c *Cell) any { return &c.Options.Bandwidth },
	},
	{
		Name: "rate", Title: "offered transactions of each flow", Unit: "1/s", Part: Option, Most: 10_000_000, takes: []string{PacedRR},
		About: "transactions a second that each flow of paced_rr offers",
		field: func(c *Cell) any { return &c.Options.Rate },
	},
	{
		Name: "congestion", Short: "C", Title: "congestion control", Part: Option, takes: overTCP,
		About: "TCP congestion control", Example: "cubic",
		key: "C", field: func(c *Cell) any { return &c.Options.Congestion },
	},
	{
		Name: "zero-copy", Short: "Z", Title: "zero copy", Part: Option, takes: inFlows,
		About: "send with sendfile(2)",
		key:   "Z", field: func(c *Cell) any { return &c.Options.ZeroCopy },
	},
	{
		Name: "skip-rx-copy", Title: "discarded in the kernel", Part: Option, takes: inFlows,
		About: "the receiver discards in the kernel",
		field: func(c *Cell) any { return &c.Options.SkipRxCopy },
	},
	{
		Name: "reverse", Short: "R", Title: "server sends", Part: Option, takes: []string{TCPStream, UDPStream},
		About: "the server sends, the client receives",
		key:   "R", field: func(c *Cell) any { return &c.Options.Reverse },
	},
	{
		Name: "no-keep-alive", Title: "a connection for each request", Part: Option, takes: []string{HTTP},
		About: "a connection for each request of http",
		field: func(c *Cell) any { return &c.Options.NoKeepAlive },
	},
	{
		Name: "gso", Title: "datagrams in batches", Part: Option, takes: []string{UDPStream},
		About: "datagrams of udp_stream are handed over in batches",
		field: func(c *Cell) any { return &c.Options.GSO },
	},
	{Name: "placement", Title: "placement", Values: []string{PlacementSame, PlacementDistinct, PlacementFree}, Part: Traffic, key: inHead, field: func(c *Cell) any { return &c.Placement }},
	{Name: "underlay", Title: "underlay", Part: Condition, field: func(c *Cell) any { return &c.Underlay }},
	{Name: "processes", Title: "clients in each container", Part: Path, Usual: 1, field: func(c *Cell) any { return &c.Processes }},
	{Name: "neighbours", Title: "idle neighbours", Part: Condition, field: func(c *Cell) any { return &c.Neighbours }},
	{Name: "rules", Title: "further firewall rules", Part: Condition, field: func(c *Cell) any { return &c.Rules }},
	{Name: "mtu", Title: "MTU", Unit: "B", Part: Condition, Usual: 1500, field: func(c *Cell) any { return &c.MTU }},
	{Name: "twin", Title: "twin", Part: Beside, field: func(c *Cell) any { return &c.Twin }},
	{Name: "offload", Title: "offload", Values: []string{"on", OffloadOff}, Part: Condition, field: func(c *Cell) any { return &c.Offload }},
	{Name: "normalize", Title: "alike", Part: Condition, key: "normalize=1", field: func(c *Cell) any { return &c.Normalize }},
	{Name: "baseline", Title: "baseline", Part: Beside, field: func(c *Cell) any { return &c.Baseline }},
}

// Dimensions are those of some parts of a cell, or of all if none is named.
func Dimensions(parts ...Part) []Dimension {
	if len(parts) == 0 {
		return slices.Clone(dimensions)
	}
	var some []Dimension
	for _, d := range dimensions {
		if slices.Contains(parts, d.Part) {
			some = append(some, d)
		}
	}
	return some
}

// DimensionOf finds the dimension of a name.
func DimensionOf(name string) (Dimension, bool) {
	i := slices.IndexFunc(dimensions, func(d Dimension) bool { return d.Name == name })
	if i < 0 {
		return Dimension{}, false
	}
	return dimensions[i], true
}

// Field is where a cell has it: a *int, *string or *bool.
func (d Dimension) Field(c *Cell) any { return d.field(c) }

// Flag is how it is given on a command line, as short as it can be.
func (d Dimension) Flag() string {
	if d.Short != "" {
		return "-" + d.Short
	}
	return "--" + d.Name
}

// Takes reports whether it has an effect on a workload. A tool may honour fewer options.
func (d Dimension) Takes(workload string) bool {
	return d.takes == nil || slices.Contains(d.takes, workload)
}

// Takers are the workloads on which it has an effect; nil is all.
func (d Dimension) Takers() []string { return slices.Clone(d.takes) }

// IsSet reports whether it is another than the zero value in a cell.
func (d Dimension) IsSet(c Cell) bool { return !reflect.ValueOf(d.field(&c)).Elem().IsZero() }

// Clear sets it to the zero value.
func (d Dimension) Clear(c *Cell) { reflect.ValueOf(d.field(c)).Elem().SetZero() }

// Raw is its number in a cell, as that has it. What is no number has none.
func (d Dimension) Raw(c Cell) (n int, ok bool) {
	if v, ok := d.field(&c).(*int); ok {
		return *v, true
	}
	return 0, false
}

// Number is its number in a cell, and for zero what that stands for.
func (d Dimension) Number(c Cell) (n int, ok bool) {
	n, ok = d.Raw(c)
	if n == 0 {
		n = d.Usual
	}
	return n, ok
}

// Switch reports whether it is set or not set, and has no further value.
func (d Dimension) Switch() bool {
	_, ok := d.field(&Cell{}).(*bool)
	return ok
}

// Text is its value in a cell, as a flag has it: a number in its smallest unit, true or false.
func (d Dimension) Text(c Cell) string {
	if n, ok := d.Number(c); ok {
		return strconv.Itoa(n)
	}
	switch v := d.field(&c).(type) {
	case *string:
		return *v
	case *bool:
		return strconv.FormatBool(*v)
	}
	return ""
}

// inKey is its part of a cell's key, where it is set.
func (d Dimension) inKey(c Cell) string {
	key := d.key
	if key == "" {
		key = d.Name
	}
	if d.Switch() {
		return "/" + key
	}
	return "/" + key + "=" + escape(d.Text(c))
}
