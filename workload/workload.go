// Package workload says what a tool that drives traffic must offer. The embedded
// engine is one; programs that people trust are others.
package workload

import (
	"context"
	"net/netip"
	"time"

	"nettoll/agent"
	"nettoll/platform"
	"nettoll/record"
)

// Tool drives traffic between endpoints and measures it.
type Tool interface {
	Name() string
	// Version is what is recorded; for a program, what it says of itself.
	Version(ctx context.Context) (string, error)
	// Drives lists what it can drive.
	Drives() []Drive
	// Run drives one trial. It returns when the window is over and nothing it
	// started is left, or with an error that says what broke.
	Run(ctx context.Context, job Job) (Result, error)
}

// Drive is a workload that a tool can drive, with the options that it honours, by
// the names of their flags ("streams", "message-size"). A job with another option
// set is not for this tool.
type Drive struct {
	Workload string // record.TCPStream, …
	Options  []string
	IPv4Only bool
	Turns    bool // a Turner's: its traffic can rest between turns
}

// Turner is a tool whose traffic can stand beside that of others and take turns with it: its
// connections are made once, and rest while others have theirs. Drives say which workloads.
type Turner interface {
	Tool
	// Stand makes the connections of a job, which rest until their first turn. The caller
	// closes what it returns. It is called for several networks at once.
	Stand(ctx context.Context, job Job) (Standing, error)
}

// Standing is a job whose connections are made and rest.
type Standing interface {
	// Notice is how long before the first turn its ends must be told of it.
	Notice() time.Duration
	// Gap is how long after the window of a turn the traffic has come to rest. The next turn,
	// whoever it is that has it, begins no sooner.
	Gap() time.Duration
	// Turns has traffic flow when turns begin, each for the warm-up and the duration of the
	// job, and gives what each window held. What has crossed the network is that of the turn
	// as a whole, with what came before it. Together is what all windows held but those of
	// cold turns. It is called once.
	Turns(ctx context.Context, t Turns) (each []Result, together Result, err error)
	// Close ends what stands.
	Close()
}

// Turns is when one of several has its turns.
type Turns struct {
	Begins []time.Time
	Cold   int       // how many at the beginning do not count
	Over   time.Time // when all have had theirs: nobody works out anything before
}

// WarnOverran is the code of a warning that some of a turn's traffic was on its way for longer.
const WarnOverran = "overran"

// Prober is a tool that can be missing.
type Prober interface {
	// Probe says whether the tool can be used here. The error wraps
	// platform.ErrUnsupported and says how to get it.
	Probe(ctx context.Context) error
}

// Packer is a tool whose programs can be put into the image of a container.
type Packer interface {
	// Pack says what they need there. The error wraps platform.ErrUnsupported where a
	// program is missing.
	Pack() (Pack, error)
}

// Pack is files of this machine, by their absolute paths, which are the same in the image.
type Pack struct {
	Programs []string
	Data     []string // other files, and folders with all that is in them
}

// Roamer is a tool with a server that cannot be told where to listen.
type Roamer interface {
	// Roams names the server's program.
	Roams() string
}

// Agenter is an endpoint that has an agent already, which somebody else closes.
type Agenter interface {
	Agent(ctx context.Context) (*agent.Client, error)
}

// Job is one trial's traffic.
type Job struct {
	Workload string
	Options  record.Options
	Pairs    []Pair
	Warmup   time.Duration
	Duration time.Duration
	CPUs     CPUs
	Watch    Watch
}

// Pair is one client process and the server it talks to. Several clients can be
// in one container: their endpoints have agents of their own and the same name.
type Pair struct {
	Client platform.Endpoint
	Server platform.Endpoint
	Addr   netip.Addr // where the client reaches the server
	Listen netip.Addr // where the server listens: what Addr has become where it arrives
	Port   int        // of the server, for all its clients
	Own    [2]int     // two more of its ports, for this client alone
}

// CPUs is where processes may run. Empty is anywhere.
type CPUs struct {
	Client []int
	Server []int
}

// Watch is told when the window common to all flows opens and closes, so that
// the rest of the machine is sampled over the same time. Each is called once.
type Watch struct {
	Open  func()
	Close func()
}

// Result is what the tool measured in the window.
type Result struct {
	Window   time.Duration            // measured, not asked for
	Metrics  map[string]record.Metric // without the costs, which the runner adds
	Latency  *record.Histogram
	Course   *record.Course // of the window, where the tool tells
	Covered  float64        // as in record.Trial
	Flows    []record.Flow
	Client   record.ProcessCPU // all client processes, in the window
	Server   record.ProcessCPU
	Bytes    uint64    // payload received in the window, both directions
	Crossed  []Crossed // by pair of the job: what its path must have carried
	Warnings []record.Warning
	// Congestion is the TCP congestion controls that connections were seen to have, at both ends,
	// where the tool can tell, each once.
	Congestion []string
}

// Crossed is what a pair of endpoints exchanged since its connections were made,
// inside the window and outside.
type Crossed struct {
	Bytes uint64 // payload received, both directions
	Conns uint64 // connections made for payload
}
