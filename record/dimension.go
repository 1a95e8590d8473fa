package record

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dimension is a property in which cells differ on purpose. Keys of cells, flags,
// suites, plans, axes of sweeps and columns of reports are made from the table of
// dimensions: a new one needs a row, its field, and the code that uses it.
type Dimension struct {
	Name    string   // of its flag, for example message-size; with _ for - elsewhere, see Identifier
	Short   string   // of its flag, for example l
	Title   string   // for display, for example message size; a plural for numbers of things
	About   string   // short description as an option or a condition
	Example string   // example values, as its flag takes them
	Unit    string   // "B", "bit/s", "1/s"; "" for counts, names and switches
	Usual   int      // the value that zero stands for, for example an MTU of 1500
	Least   int      // limit of a numeric condition
	Most    int      // limit of a numeric option or condition, so that a mistyped one does not exhaust memory
	Values  []string // all values, if they are a few names; of a condition, the first is what "" stands for
	Open    bool     // zero can be given explicitly, too: it means no limit, the same as leaving it out
	Part    Part

	// In is what the networks that take a condition have, and others do not, such as Services; "" means that all take it.
	In string
	// Each is how long building a network that takes the condition takes longer for each of its number.
	Each time.Duration
	// Once is how much longer it takes besides, if the number is not 0.
	Once time.Duration

	takes []string          // workloads that take it; nil means all
	key   string            // of its part of a key, if different from its name, or inHead
	field func(c *Cell) any // *int, *string or *bool
}

// Bounds are the least and the greatest size that an option can have, in bytes.
type Bounds struct {
	Option string // by the name of its dimension
	Least  int
	Most   int
}

// Admits reports whether the option is within its bounds, or not given.
func (b Bounds) Admits(o Options) bool {
	d, _ := DimensionOf(b.Option)
	n, _ := d.Raw(Cell{Options: o})
	return n == 0 || n >= b.Least && n <= b.Most
}

// Part is the aspect of a cell that a dimension belongs to.
type Part int

// The parts of a cell.
const (
	Path      Part = iota // what is connected: network, hosts, family, counts
	Traffic               // the tool, the workload and its placement
	Option                // of a workload
	Link                  // the underlay between hosts
	Condition             // of the network's surroundings
	Beside                // what the cell is compared with
)

// What only some networks have, and conditions need.
const (
	Services = "services" // of Kubernetes, at which servers are reached; there can be further ones
	Pods     = "pods"     // of a cluster, which are the containers
	Policies = "policies" // of Kubernetes, which decide what reaches the servers: these are pods, and clients are in other ones
)

// MaxMessage is the largest size of a message, a request or a response, in bytes.
const MaxMessage = 64 << 20

// MaxContainers is how many containers one host can have together with the idle ones: the 4096 addresses of its IPv4
// subnet and of a spare one, except the network's, the gateway's, the broadcast address and one that stays free.
const MaxContainers = 2 * 4092

// inHead marks dimensions that Cell.Key writes without a name.
const inHead = "-"

// Workloads that take an option.
var (
	overTCP   = []string{TCPStream, TCPBidir, TCPRR, TCPCRR, PacedRR, LatencyUnderLoad}
	ofOurs    = append(slices.Clone(overTCP), UDPStream, UDPRR)
	streaming = []string{TCPStream, TCPBidir, UDPStream, LatencyUnderLoad}
	inFlows   = []string{TCPStream, TCPBidir}
	asking    = []string{TCPRR, TCPCRR, UDPRR, PacedRR, LatencyUnderLoad}
)

// dimensions are in the order in which they appear in keys.
var dimensions = []Dimension{
	{Name: "network", Title: "network", Part: Path, key: inHead, field: func(c *Cell) any { return &c.Network }},
	{Name: "hosts", Title: "hosts", Part: Path, key: inHead, field: func(c *Cell) any { return &c.Hosts }},
	{Name: "family", Title: "IP version", Part: Path, key: inHead, field: func(c *Cell) any { return &c.Family }},
	{Name: "servers", Title: "servers", Part: Path, Usual: 1, key: inHead, field: func(c *Cell) any { return &c.Servers }},
	{Name: "clients", Title: "clients", Part: Path, Usual: 1, key: inHead, field: func(c *Cell) any { return &c.Clients }},
	{Name: "tool", Title: "tool", Part: Traffic, key: inHead, field: func(c *Cell) any { return &c.Tool }},
	{Name: "workload", Title: "workload", Part: Traffic, key: inHead, field: func(c *Cell) any { return &c.Workload }},
	{Name: "streams", Short: "P", Title: "streams of each client", Part: Option, Usual: 1, Most: 10_000,
		About: "connections of each client", Example: "1,4,16", key: "P", field: func(c *Cell) any { return &c.Options.Streams }},
	{Name: "message-size", Short: "l", Title: "message size", Unit: "B", Part: Option, Most: MaxMessage, takes: streaming,
		About: "bytes of a write or read of a stream", Example: "1K,128K", key: "l", field: func(c *Cell) any { return &c.Options.MessageSize }},
	{Name: "window", Short: "w", Title: "socket buffers", Unit: "B", Part: Option, Most: 1 << 30, takes: ofOurs,
		About: "socket buffers in bytes", Example: "256K", key: "w", field: func(c *Cell) any { return &c.Options.Window }},
	{Name: "request-size", Title: "request size", Unit: "B", Part: Option, Most: MaxMessage, takes: asking,
		About: "bytes of a request of tcp_rr and the like", key: "req", field: func(c *Cell) any { return &c.Options.RequestSize }},
	{Name: "response-size", Title: "response size", Unit: "B", Part: Option, Most: MaxMessage, takes: append(slices.Clone(asking), HTTP, Redis),
		About: "bytes of a response of tcp_rr and the like", key: "resp", field: func(c *Cell) any { return &c.Options.ResponseSize }},
	{Name: "bandwidth", Short: "b", Title: "offered rate of each flow", Unit: "bit/s", Part: Option, Most: 400e9, Open: true, takes: []string{UDPStream, TCPStream},
		About: "payload that each flow of a stream offers, in bit/s; 0 means no limit", Example: "100M,1G", key: "b", field: func(c *Cell) any { return &c.Options.Bandwidth }},
	{Name: "rate", Title: "offered transactions of each flow", Unit: "1/s", Part: Option, Most: 10_000_000, takes: []string{PacedRR},
		About: "transactions per second that each flow of paced_rr offers", field: func(c *Cell) any { return &c.Options.Rate }},
	{Name: "congestion", Short: "C", Title: "congestion control", Part: Option, takes: overTCP,
		About: "TCP congestion control", Example: "cubic", key: "C", field: func(c *Cell) any { return &c.Options.Congestion }},
	{Name: "zero-copy", Short: "Z", Title: "zero copy", Part: Option, takes: inFlows,
		About: "send with sendfile(2)", key: "Z", field: func(c *Cell) any { return &c.Options.ZeroCopy }},
	{Name: "skip-rx-copy", Title: "discarded in the kernel", Part: Option, takes: inFlows,
		About: "the receiver discards data in the kernel", field: func(c *Cell) any { return &c.Options.SkipRxCopy }},
	{Name: "reverse", Short: "R", Title: "server sends", Part: Option, takes: []string{TCPStream, UDPStream},
		About: "the server sends, the client receives", key: "R", field: func(c *Cell) any { return &c.Options.Reverse }},
	{Name: "no-keep-alive", Title: "a connection for each request", Part: Option, takes: []string{HTTP},
		About: "a connection for each request of http", field: func(c *Cell) any { return &c.Options.NoKeepAlive }},
	{Name: "gso", Title: "datagrams in batches", Part: Option, takes: []string{UDPStream},
		About: "datagrams of udp_stream go to the kernel in batches", field: func(c *Cell) any { return &c.Options.GSO }},
	{Name: "placement", Title: "placement", Values: []string{PlacementSame, PlacementDistinct, PlacementFree}, Part: Traffic, key: inHead, field: func(c *Cell) any { return &c.Placement }},
	{Name: "underlay", Title: "underlay", Part: Link, field: func(c *Cell) any { return &c.Underlay }},
	{Name: "processes", Title: "clients in each container", Part: Path, Usual: 1, field: func(c *Cell) any { return &c.Processes }},
	{Name: "neighbours", Title: "idle neighbours", Part: Condition, Most: MaxContainers,
		About: "numbers of idle containers that exist in addition to those that exchange traffic", Example: "0,1000", field: func(c *Cell) any { return &c.Neighbours }},
	{Name: "rules", Title: "further firewall rules", Part: Condition, Most: 100_000, Each: 170 * time.Microsecond,
		About: "numbers of extra firewall rules on each host, none of which matches", Example: "0,100,10000", field: func(c *Cell) any { return &c.Rules }},
	// The private ranges of their addresses have room for 16,000 (kube.ServiceRange). Kubernetes is tested with up to 10,000.
	{Name: "services", Title: "further services", Part: Condition, Most: 10_000, In: Services, Once: 4 * time.Second, Each: 12 * time.Millisecond,
		About: "numbers of further services of Kubernetes, none of which is measured, in networks that have services", Example: "0,100,1000", field: func(c *Cell) any { return &c.Services }},
	{Name: "mtu", Title: "MTU", Unit: "B", Part: Condition, Usual: 1500, Least: 1280, Most: 65535, // hosts have IPv6 addresses, RFC 8200
		About: "MTUs of the underlay, in bytes", Example: "1500,9000", field: func(c *Cell) any { return &c.MTU }},
	{Name: "twin", Title: "twin", Part: Beside, field: func(c *Cell) any { return &c.Twin }},
	{Name: "offload", Title: "offload", Values: []string{"on", OffloadOff}, Part: Condition,
		About: "segmentation, merging and checksums by devices, as the kernel sets them, or all turned off", field: func(c *Cell) any { return &c.Offload }},
	{Name: "normalize", Title: "endpoints made alike", Part: Condition,
		About: "give all endpoints the MTU that every network can offer", key: "normalize=1", field: func(c *Cell) any { return &c.Normalize }},
	{Name: "cni", Title: "CNI", Values: []string{CNIBridge, CNIFlannel, CNICalico}, Part: Condition, In: Pods,
		About: "what connects the pods of clusters that are started for the run", field: func(c *Cell) any { return &c.CNI }},
	{Name: "policies", Title: "further NetworkPolicy objects", Part: Condition, Most: 1000, In: Policies, Once: 8 * time.Second, Each: 10 * time.Millisecond,
		About: "numbers of NetworkPolicies of the servers' pods that admit none of the clients, besides one that admits everything", Example: "0,10,100",
		field: func(c *Cell) any { return &c.Policies }},
	{Name: "baseline", Title: "baseline", Part: Beside, field: func(c *Cell) any { return &c.Baseline }},
}

// Dimensions returns the dimensions of the given parts of a cell, or all if none is given.
func Dimensions(parts ...Part) []Dimension {
	return Those(dimensions, func(d Dimension) bool { return len(parts) == 0 || slices.Contains(parts, d.Part) })
}

// DimensionOf finds a dimension by name.
func DimensionOf(name string) (Dimension, bool) {
	return First(dimensions, func(d Dimension) bool { return d.Name == name })
}

// Field returns a pointer to the dimension's field in a cell: a *int, *string or *bool.
func (d Dimension) Field(c *Cell) any { return d.field(c) }

// Identifier returns its name with _ for -: its key in suites and run files, and its column and label in reports. The labels of
// OpenMetrics may not contain -.
func (d Dimension) Identifier() string { return strings.ReplaceAll(d.Name, "-", "_") }

// Flag returns its flag on a command line, in the shortest form.
func (d Dimension) Flag() string {
	if d.Short != "" {
		return "-" + d.Short
	}
	return "--" + d.Name
}

// Takes reports whether it affects a workload. A tool may honour fewer options.
func (d Dimension) Takes(workload string) bool {
	return d.takes == nil || slices.Contains(d.takes, workload)
}

// Takers returns the workloads that it affects; nil means all.
func (d Dimension) Takers() []string { return slices.Clone(d.takes) }

// TakenBy reports whether a network that has these things takes it.
func (d Dimension) TakenBy(has []string) bool { return d.In == "" || slices.Contains(has, d.In) }

// Default returns what a cell has that does not set it, as the flag of a condition takes it; "" for none of it.
func (d Dimension) Default() string {
	switch {
	case d.Part != Condition:
	case len(d.Values) > 0:
		return d.Values[0]
	case d.Usual != 0:
		return strconv.Itoa(d.Usual)
	}
	return ""
}

// WrittenIn returns the unit that flags and suites write its numbers in; "" if they are plain, as those of conditions are.
func (d Dimension) WrittenIn() string {
	if d.Part == Condition {
		return ""
	}
	return d.Unit
}

// IsSet reports whether it differs from the zero value in a cell.
func (d Dimension) IsSet(c Cell) bool { return !reflect.ValueOf(d.field(&c)).Elem().IsZero() }

// Clear sets it to the zero value.
func (d Dimension) Clear(c *Cell) { reflect.ValueOf(d.field(c)).Elem().SetZero() }

// Set sets it to an int, a string or a bool, which its field has. Cells have the default as zero.
func (d Dimension) Set(c *Cell, value any) {
	if fmt.Sprint(value) == d.Default() {
		d.Clear(c)
		return
	}
	reflect.ValueOf(d.field(c)).Elem().Set(reflect.ValueOf(value))
}

// Value returns what its field has in a cell.
func (d Dimension) Value(c Cell) any { return reflect.ValueOf(d.field(&c)).Elem().Interface() }

// Raw returns its number as stored in a cell; ok is false if it is not a number.
func (d Dimension) Raw(c Cell) (n int, ok bool) {
	n, ok = d.Value(c).(int)
	return n, ok
}

// Longer returns how much longer building a network takes because of it, for a cell's number.
func (d Dimension) Longer(c Cell) time.Duration {
	n, _ := d.Raw(c)
	if n == 0 {
		return 0
	}
	return d.Once + time.Duration(n)*d.Each
}

// Number returns its number in a cell, with zero replaced by what it stands for.
func (d Dimension) Number(c Cell) (n int, ok bool) {
	n, ok = d.Raw(c)
	return cmp.Or(n, d.Usual), ok
}

// Switch reports whether it is only set or not set, without a value.
func (d Dimension) Switch() bool {
	_, ok := d.Value(Cell{}).(bool)
	return ok
}

// Text returns its value in a cell as its flag takes it: a number in its smallest unit, true or false.
func (d Dimension) Text(c Cell) string {
	if n, ok := d.Number(c); ok {
		return strconv.Itoa(n)
	}
	return fmt.Sprint(d.Value(c))
}

// Phrase puts into words what a cell sets it to, such as "30 further firewall rules" or "MTU 9000".
func (d Dimension) Phrase(c Cell) string {
	n, things, counted := d.Counted(c)
	switch {
	case d.Switch():
		return d.Title
	case counted:
		return strconv.Itoa(n) + " " + things
	}
	return d.Title + " " + d.Text(c)
}

// Counted returns its number in a cell, and what that is a number of, in the singular or the plural; ok is false if it is
// none of things, whose title is their plural.
func (d Dimension) Counted(c Cell) (n int, things string, ok bool) {
	n, ok = d.Raw(c)
	if things = d.Title; n == 1 {
		things = strings.TrimSuffix(things, "s")
	}
	return n, things, ok && d.Unit == "" && d.Usual == 0 && strings.HasSuffix(d.Title, "s")
}

// inKey returns its part of a cell's key, for a cell that sets it.
func (d Dimension) inKey(c Cell) string {
	key := cmp.Or(d.key, d.Name)
	if d.Switch() {
		return "/" + key
	}
	return "/" + key + "=" + escape(d.Text(c))
}
