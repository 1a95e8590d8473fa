// Package workload defines what a tool that generates traffic must offer. The embedded engine is
// one tool; the others are well-known programs such as iperf3.
package workload

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"nettoll/agent"
	"nettoll/internal/await"
	"nettoll/internal/oneline"
	"nettoll/platform"
	"nettoll/record"
)

// Tool drives traffic between endpoints and measures it.
type Tool struct {
	Name   string
	Drives []Drive
	// Version returns the version that is recorded; for a program, the one it reports of itself.
	Version func(ctx context.Context) (string, error)
	// Run drives one trial. It returns when the window is over and nothing it started is left, or
	// with an error that says what failed.
	Run func(ctx context.Context, job Job) (Result, error)

	// Stand is for drives with turns. It makes the connections of a job, which rest until their
	// first turn. The caller closes the result. Stand is called for several networks at once.
	Stand func(ctx context.Context, job Job) (Standing, error)

	// Probe and Pack are for a tool that is a program of this machine. Probe checks whether it can
	// be used here, and Pack returns what it needs in the image of a container. Their errors wrap
	// platform.ErrUnsupported where a program is missing, and say how to get it.
	Probe func(ctx context.Context) error
	Pack  func() (Pack, error)
	// Roams names the program of a server that cannot be restricted to a listening address.
	Roams string
	// Startup is how long its servers may take until they listen.
	Startup time.Duration
}

// ErrLate is the error of a Run in which an end was not ready in time, as happens on a very busy machine.
// Nothing was measured, and it can be run again.
var ErrLate = errors.New("an end was not ready in time")

// Drive is a workload that a tool can drive, with the options it honours, by the names of their
// flags ("streams", "message-size"). The tool cannot run a job that sets any other option.
type Drive struct {
	Workload string // record.TCPStream, …
	Options  []string
	IPv4Only bool
	// Bounds limit sizes more than record.Dimension does.
	Bounds []record.Bounds
	// Warmed: it cannot be driven without a warm-up.
	Warmed bool
	// Turns: its traffic can coexist with that of other networks and take turns with it. Its
	// connections are made once, and rest during the turns of others.
	Turns bool
}

// Within returns the bounds of options that are sizes, in bytes.
func Within(least, most int, options ...string) []record.Bounds {
	return record.Each(options, func(o string) record.Bounds { return record.Bounds{Option: o, Least: least, Most: most} })
}

// Standing is a job whose connections are made and at rest.
type Standing interface {
	// Notice returns how long before the first turn the ends must be notified of it.
	Notice() time.Duration
	// Gap returns how long after the window of a turn the traffic takes to come to rest. The next
	// turn, of whichever network, begins no sooner.
	Gap() time.Duration
	// Clocks returns what is known of the clocks of ends on other machines; nil: all ends have this machine's.
	Clocks() *Clocks
	// Turns runs the traffic when turns begin, each time for the warm-up and the duration of the
	// job, and returns the result of each window. The traffic that has crossed the network is given
	// for a turn as a whole, including what preceded the turn. Together is the result of all
	// windows except those of cold turns. Turns is called once.
	Turns(ctx context.Context, t Turns) (each []Result, together Result, err error)
	// Close ends the connections and everything else that stands.
	Close()
}

// Turns gives the times of one network's turns.
type Turns struct {
	Begins  []time.Time
	Cold    int           // number of turns at the beginning that do not count
	ColdFor time.Duration // how long their windows are; 0 is as long as the others
	Drain   time.Duration // after each turn, in addition to Gap, for what the network queues to arrive
	Over    time.Time     // when the turns of all networks are over: results are computed only then
	// Ahead is how far the clock of the first server is ahead of this machine's, as measured by the network with the
	// smallest error; nil: as measured by this network. Networks whose servers are on one machine take their turns by one
	// clock.
	Ahead *time.Duration
}

// Clocks relates CLOCK_MONOTONIC of ends on other machines to this one's, and to each other.
type Clocks struct {
	Ahead  time.Duration // how far the first server's clock is ahead of this machine's
	Within time.Duration // the greatest error of Ahead
	// Of is how far each end's clock is ahead of this machine's, if Ahead is right. Apart is the greatest error of the
	// differences between them.
	Of    map[platform.Endpoint]time.Duration
	Apart time.Duration
}

// WarnOverran is the code of a warning that some traffic of a turn was still on its way after the
// gap.
const WarnOverran = "overran"

// Pack is a set of files of this machine, by their absolute paths, which are the same in the image.
type Pack struct {
	Programs []string
	Data     []string // other files, and folders with everything in them
}

// Agenter is an endpoint that already has an agent, which somebody else closes: the runner keeps one in each endpoint
// for as long as the network stands. In other endpoints, tools start an agent of their own.
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
	// Distant says that the endpoints may be on different machines, whose clocks differ.
	Distant bool
	// Clock identifies the clock of a distant endpoint; nil, or "": it may have one of its own.
	Clock func(platform.Endpoint) string
	// On identifies the machine of a distant endpoint, as far as that is known; nil: all are on one.
	On func(platform.Endpoint) string
}

// Machine identifies the machine of an endpoint: CPUs are given out on each by itself.
func (j Job) Machine(e platform.Endpoint) string {
	if j.On == nil {
		return ""
	}
	return j.On(e)
}

// Pair is one client process and the server it talks to. Several clients can be in one container:
// their endpoints then have separate agents and the same name.
type Pair struct {
	Client platform.Endpoint
	Server platform.Endpoint
	Addr   netip.Addr // where the client reaches the server
	Listen netip.Addr // where the server listens: the destination address that packets sent to Addr have when they arrive
	Port   int        // of the server, for all its clients
	Own    [2]int     // two more ports of the server, for this client alone
}

// CPUs are those where processes may run, on each machine of the clients or of the servers; an empty list means any.
type CPUs struct {
	Client []int
	Server []int
}

// Watch is notified when the window common to all flows opens and closes, so that the rest of the
// machine is sampled over the same time. Each function is called once.
type Watch struct {
	Open  func()
	Close func()
}

// Over notifies the observer of a window. One that saw it open sees it close, even if ctx ends in between.
func (w Watch) Over(ctx context.Context, opens time.Time, length time.Duration) {
	if await.Sleep(ctx, time.Until(opens)) != nil {
		return
	}
	if w.Open != nil {
		w.Open()
	}
	_ = await.Sleep(ctx, time.Until(opens.Add(length)))
	if w.Close != nil {
		w.Close()
	}
}

// Result is what the tool measured in the window.
type Result struct {
	Window   time.Duration            // as measured, not as requested
	Metrics  map[string]record.Metric // without the costs, which the runner adds
	Latency  *record.Histogram
	Course   *record.Course // of the window, where the tool reports one
	Covered  float64        // as in record.Trial
	Flows    []record.Flow
	Client   record.ProcessCPU // all client processes, in the window
	Server   record.ProcessCPU
	Bytes    uint64    // payload received in the window, both directions
	Crossed  []Crossed // by pair of the job: what its path must have carried
	Warnings []record.Warning
	// Congestion lists the TCP congestion controls that connections were seen to have at either
	// end, each once, where the tool can report them.
	Congestion []string
	Clocks     *record.Clocks // as in record.Trial
	// Spins means that clients use up a CPU each while they wait for what is due next: their CPU time says nothing of the traffic.
	Spins bool
}

// Crossed is what a pair of endpoints has exchanged since its connections were made, inside the
// window and outside.
type Crossed struct {
	Bytes uint64 // payload received, both directions
	Conns uint64 // connections made for payload
	// Transactions are those that were made one after the other: the request and the response of each were packets of their
	// own. 0: not known.
	Transactions uint64
	// Fewer are those of Bytes that crossed in the direction in which fewer did. 0: not known.
	Fewer uint64
}

// Add adds what another pair has exchanged, or the same one at another time.
func (c *Crossed) Add(o Crossed) {
	c.Bytes += o.Bytes
	c.Conns += o.Conns
	c.Transactions += o.Transactions
	c.Fewer += o.Fewer
}

// When many flows share one link, some of them may not get a segment through for a whole window:
// each retransmission that times out waits twice as long as the one before, starting from 200 ms
// (Linux's TCP_RTO_MIN), so a flow that lost three in a row is silent for more than a second. Of
// 128 flows on a full link of 70 Mbit/s, without any container network, 2 to 79 were silent for one
// second.
const (
	crowd       = 16  // flows
	crowdSilent = 0.7 // share of the flows; more is a fault
	crowdWindow = 5000 * time.Millisecond
)

// Crowded reports whether silent flows can be explained by the number of flows, in a window of the
// given length.
func Crowded(silent, flows int, window time.Duration) bool {
	return flows >= crowd && float64(silent) <= crowdSilent*float64(flows) && window <= crowdWindow
}

// Starved returns the warning about silent flows that are not a reason to fail.
func Starved(silent, flows int) []record.Warning {
	return record.Warn(silent > 0, record.WarnStarved,
		"%d of %d flows received nothing while the window was open: they waited for a CPU, or for a path that many share, longer than the window lasted", silent, flows)
}

// Pace returns a warning if traffic was not offered at the requested rate: asked, offered and its error are in the
// same unit, and what is the text for the requested rate. A rate of 0 is no limit.
func Pace(asked, offered, within float64, what string) []record.Warning {
	const tolerance = 0.02 // the share of the rate that counts as none
	return append(
		record.Warn(offered+within < (1-tolerance)*asked, "pace-missed",
			"reached only %s of the requested %s: the path or the generator could not keep up", oneline.Number(offered, 4), what),
		record.Warn(asked > 0 && offered-within > (1+tolerance)*asked, "pace-exceeded",
			"offered %s instead of the requested %s: the generator made up for time in which it could not send", oneline.Number(offered, 4), what)...)
}

// Narrowed returns a warning if a socket has a smaller buffer than requested, in bytes. name says which, and limit is the
// setting that bounds it.
func Narrowed(name, limit string, asked, got int) []record.Warning {
	return record.Warn(got < asked, "window-limited", "%s buffer of %d bytes requested, %d granted: limited by %s", name, asked, got, limit)
}
