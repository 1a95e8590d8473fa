package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nettoll/internal/oneline"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// How much longer than its warm-up and window a trial may take: some programs work in whole seconds
// only, and each client process has to be started. It is more than several answers of an agent may take, of which each has
// a bound of its own, with an error that says more.
const (
	grace       = 60 * time.Second
	graceClient = 50 * time.Millisecond
)

// attempts is how often a trial is begun, at most, if an end hears too late when to start. Attempts that
// fail for this reason have measured nothing.
const attempts = 5

// trial measures one cell once. Errors are recorded in the trial.
func (s *session) trial(ctx context.Context, c record.Cell, began time.Time) record.Trial {
	var t record.Trial
	warmup, window := seconds(s.r.Settings.Warmup), seconds(s.r.Settings.Duration)
	more := s.r.patience(grace + s.r.Tools[c.Tool].Startup + time.Duration(c.Pairs())*graceClient)
	ctx, cancel := context.WithTimeoutCause(ctx, warmup+window+more,
		fmt.Errorf("the trial took more than %v beyond its window", more))
	defer cancel()
	var err error
	for range attempts {
		t = record.Trial{Cell: c, Started: began}
		if err = s.measure(ctx, &t, warmup, window); !errors.Is(err, workload.ErrLate) {
			break
		}
	}
	if err != nil {
		failed(ctx, &t, err)
	}
	return t
}

// failed notes an error on a trial.
func failed(ctx context.Context, t *record.Trial, err error) {
	cause, known := errors.AsType[*explained](err)
	if known {
		t.Remedy = cause.remedy
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx) // more specific than that the time is up
		if known {
			err = &explained{cause.finding, err}
		}
	}
	t.Status, t.Reason = record.Failed, oneline.Errors(err.Error())
	if missing, ok := errors.AsType[*platform.Unsupported](err); ok {
		t.Remedy = missing.Remedy
	}
	if errors.Is(err, platform.ErrUnsupported) {
		t.Status = record.Skipped
	}
	t.Metrics, t.Latency, t.Slices = nil, nil, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// link is a pair of endpoints, with its addresses, path and ports.
type link struct {
	client, server *AgentEndpoint
	toServer       netip.Addr
	atServer       netip.Addr // the server's own address for toServer
	toClient       netip.Addr
	hops           []network.Hop
	port           int
	own            [2]int
	spare          int // a port of the server that no trial uses, for greetings
}

func (s *session) links(f network.Family) ([]link, error) {
	servers, clients := s.network.Servers, s.network.Clients
	var links []link
	taken := make([]int, len(servers)) // clients of each server so far
	for i, c := range clients[:s.topo.Clients] {
		n := s.topo.Pair(i)
		sv := servers[n]
		l := link{server: s.agents.in(sv, "server", 0), hops: s.network.Path(c, sv, f)}
		var err error
		if l.toServer, err = s.network.Addr(c, sv, f); err != nil {
			return nil, err
		}
		if l.atServer, err = s.network.Own(c, sv, f); err != nil {
			return nil, err
		}
		if l.toClient, err = s.network.Addr(sv, c, f); err != nil {
			return nil, err
		}
		for p := range max(s.topo.Processes, 1) {
			l.client = s.agents.in(c, "client", p)
			// A block has an even number of ports. The trial uses an odd number, so one is spare.
			l.port, l.spare = s.topo.Ports(n)
			l.own = [2]int{l.port + 1 + 2*taken[n], l.port + 2 + 2*taken[n]}
			taken[n]++
			links = append(links, l)
		}
	}
	return links, nil
}

// attempt is a trial in a network that is ready for its traffic.
type attempt struct {
	s      *session
	t      *record.Trial
	tool   workload.Tool
	links  []link
	before reading
	proof  *proof
	at     *machines
	watch  *watcher
	job    workload.Job
}

// approach readies a network for a trial: it puts the endpoints into the state that the cell
// requires, waits until a packet has crossed, and reads the counters.
func (s *session) approach(ctx context.Context, t *record.Trial) (*attempt, error) {
	tool, err := s.r.tool(ctx, t.Cell.Tool)
	if err != nil {
		return nil, err
	}
	links, err := s.links(network.Family(t.Cell.Family))
	if err != nil {
		return nil, err
	}
	if err := s.condition(ctx, t.Cell, links); err != nil {
		return nil, err
	}
	if t.Endpoints, err = facts(ctx, links); err != nil {
		return nil, err
	}
	if f := network.Family(t.Cell.Family); !s.greeted[f] {
		before, err := s.count(ctx, links)
		if err != nil {
			return nil, err
		}
		if err := s.greet(ctx, f, links); err != nil {
			return nil, s.diagnose(ctx, t, links, before, err)
		}
	}
	a := &attempt{s: s, t: t, tool: tool, links: links}
	if a.before, err = s.read(ctx, links); err != nil {
		return nil, err
	}
	if a.proof, err = begin(ctx, record.Each(links, func(l link) []network.Hop { return l.hops })); err != nil {
		return nil, fmt.Errorf("prove path: %w", err)
	}
	a.proof.from = record.Each(links, func(l link) string { return l.client.OnHost() })
	a.proof.oneWay = t.Cell.Workload == record.UDPStream
	a.proof.datagrams = a.proof.oneWay || t.Cell.Workload == record.UDPRR
	if a.at, err = s.machines(ctx, links); err != nil {
		return nil, err
	}
	a.at.describe(t.Endpoints, links)
	a.watch = newWatcher(a.at, s, links)
	if err := a.watch.attend(ctx, s.network.NodeDaemons); err != nil {
		return nil, err
	}
	a.job = workload.Job{Workload: t.Cell.Workload, Options: t.Cell.Options, Distant: s.network.Distant, Clock: a.at.clock, On: a.at.boot}
	if a.job.CPUs, err = a.at.place(t.Cell.Placement, links, t.Endpoints); err != nil {
		return nil, err
	}
	a.job.Options.Congestion = s.r.congestion(tool, t.Cell)
	if relay := s.network.Relay; relay != nil {
		if err := relay(ctx, a.job.Options.Congestion); err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
	}
	for _, l := range links {
		a.job.Pairs = append(a.job.Pairs, workload.Pair{
			Client: l.client, Server: l.server, Addr: l.toServer, Listen: l.atServer, Port: l.port, Own: l.own,
		})
	}
	place(t.Endpoints, a.job.CPUs)
	return a, nil
}

// measure runs a whole trial.
func (s *session) measure(ctx context.Context, t *record.Trial, warmup, window time.Duration) error {
	a, err := s.approach(ctx, t)
	if err != nil {
		return err
	}
	if quiet := s.r.Networks[t.Cell.Network].Platform.Info().Quiet; quiet != nil {
		defer quiet()()
	}
	if a.at.of != nil {
		if err := a.at.watchIdle(ctx, a.proof); err != nil {
			return err
		}
	}
	a.job.Warmup, a.job.Duration, a.job.Watch = warmup, window, a.watch.watch(ctx)
	res, err := a.tool.Run(ctx, a.job)
	if errors.Is(err, workload.ErrLate) {
		return err // nothing is broken
	}
	if err != nil {
		return a.diagnose(ctx, err)
	}
	s.r.spent += warmup + res.Window
	return a.complete(ctx, res, res.Crossed)
}

// diagnose looks for the cause of a failure of the traffic.
func (a *attempt) diagnose(ctx context.Context, err error) error {
	return a.s.diagnose(ctx, a.t, a.links, a.before.counters, err)
}

// complete computes the trial's figures from the result, and makes the trial invalid if the payload did
// not take its path. crossed holds the payload that each pair exchanged in total.
func (a *attempt) complete(ctx context.Context, res workload.Result, crossed []workload.Crossed) error {
	s, t, p, links := a.s, a.t, a.proof, a.links
	if len(crossed) != len(links) || len(res.Metrics) == 0 {
		return fmt.Errorf("tool %s reported %d figures, and the bytes exchanged by %d of %d pairs",
			t.Cell.Tool, len(res.Metrics), len(crossed), len(links))
	}
	var err error
	if t.Path, err = p.finish(ctx, crossed); err != nil {
		return fmt.Errorf("prove path: %w", err)
	}
	after, err := s.read(ctx, links)
	if err != nil {
		return err
	}
	ends, err := configured(ctx, links)
	if err != nil {
		return err
	}
	t.Counters = sampler.Delta(a.before.counters, after.counters)
	idle, watched := a.at.idle()
	idle = max(0, idle)
	use, doubts, err := a.watch.use(res.Window.Seconds(), idle)
	if err != nil {
		return err
	}
	use.Client, use.Server = res.Client, res.Server
	use.Idle, use.Watched = idle, watched
	if !overran(res) { // otherwise the daemons had more to do
		use.Resting = a.watch.resting()
	}
	use.Client.Host, use.Server.Host = hostOfRole(t.Endpoints, "client"), hostOfRole(t.Endpoints, "server")
	for role, by := range map[string]*record.ProcessCPU{"client": &use.Client, "server": &use.Server} {
		if own := ownCPUs(t.Endpoints, role); own != nil {
			by.CPUs = own
		}
	}
	t.CPU = &use
	t.Window, t.Latency, t.Flows, t.Warnings = res.Window.Seconds(), res.Latency, res.Flows, append(res.Warnings, doubts...)
	t.Course, t.Covered, t.Clocks = res.Course, res.Covered, res.Clocks
	t.Metrics = res.Metrics
	addShares(t)
	unexpected := a.describePath(ctx)
	ev, err := s.evidence(t, links)
	if err != nil {
		return err
	}
	for _, f := range findings(ev) {
		t.Warnings = append(t.Warnings, f.warning())
	}
	if len(use.Machine.PerCPU) > 0 && !res.Spins { // otherwise it is not known what the machine did for the traffic
		cost(t, float64(res.Bytes))
	}
	t.Warnings = append(t.Warnings, record.Warn(res.Spins, "spinning-generator",
		"what the traffic cost in CPU time is not known: clients of %s use up a CPU each while they wait until the next message is due", t.Cell.Tool)...)
	t.Warnings = append(t.Warnings, unsettled(s.settling, s.unheard)...)
	t.Warnings = append(t.Warnings, foreignTraffic(t, p, a.before.ports, after.ports, len(links), after.at.Sub(a.before.at))...)
	t.Warnings = append(t.Warnings, a.watch.foreignWork(use, res.Window)...)
	t.Warnings = append(t.Warnings, throttled(t)...)
	if a.job.Options.Congestion == "" {
		t.Warnings = append(t.Warnings, ownControl(t, s.r.Settings.Congestion)...)
	}
	t.Warnings = append(t.Warnings, s.r.shares(t.Endpoints)...)
	t.Warnings = append(t.Warnings, farFromCard(t.Endpoints)...)
	t.Status = record.OK
	transactions := record.Sum(res.Flows, func(f record.Flow) uint64 { return f.Transactions })
	unused, unknown := a.watch.unused(res.Bytes, transactions, len(res.Flows), res.Window.Seconds())
	if wrong := cmp.Or(p.misfit(alikeMTU(t.Cell)), verdict(t.Path), p.crowded(), astray(t.Endpoints, t.Path), unused, unshaped(t, s.topo.Underlay, res.Bytes, len(a.watch.turns)), changed(p, a.before, after, s.bridge),
		s.altered(p, t.Endpoints, ends), unexpected, a.uncontrolled(res)); wrong != "" {
		t.Status, t.Reason = record.Invalid, wrong
		return nil
	}
	return unknown
}

// describePath notes what was found of the path, what of it is not proved, and how the network was built. It returns what is
// unlike what was asked for, or "".
func (a *attempt) describePath(ctx context.Context) (unexpected string) {
	s, t := a.s, a.t
	unproved := s.network.Unproved
	if s.network.Found != nil {
		found := s.network.Found(a.proof.found, a.proof.unsure, network.Family(t.Cell.Family))
		t.Warnings = append(t.Warnings, record.Warn(found.Remark != "", record.WarnPathFound, "%s", found.Remark)...)
		t.Warnings = append(t.Warnings, record.Warn(found.Doubt != "", record.WarnPathNotClaimed, "%s", found.Doubt)...)
		unexpected = found.Wrong
		if found.Unproved != "" {
			unproved = append(slices.Clone(unproved), found.Unproved)
		}
	}
	if s.network.Translator != nil {
		text, not := s.network.Translator(ctx, network.Family(t.Cell.Family))
		if text != "" {
			remark(t, text)
		}
		if not != "" {
			unproved = append(slices.Clone(unproved), not)
		}
	}
	for _, text := range unproved {
		t.Warnings = append(t.Warnings, record.Warning{Code: record.WarnPathUnproved, Text: text})
	}
	if text := byIP(t.Path); text != "" {
		remark(t, text)
	}
	if s.network.Remarks != nil {
		for _, text := range s.network.Remarks(network.Family(t.Cell.Family)) {
			remark(t, text)
		}
	}
	return unexpected
}

// congestion returns the congestion control that the tool is to use; "" means the machine's default.
func (r *Runner) congestion(tool workload.Tool, c record.Cell) string {
	named := cmp.Or(c.Options.Congestion, r.Settings.Congestion)
	chooses := slices.ContainsFunc(tool.Drives, func(d workload.Drive) bool {
		return d.Workload == c.Workload && slices.Contains(d.Options, "congestion")
	})
	if !chooses || named == record.MachinesOwn {
		return ""
	}
	return named
}

// ownControl warns of streams under another congestion control than the one of the run, by a tool that cannot choose: others of
// the run are not compared under the same one.
func ownControl(t *record.Trial, wanted string) []record.Warning {
	if t.Cell.Workload != record.TCPStream && t.Cell.Workload != record.TCPBidir || wanted == "" || wanted == record.MachinesOwn {
		return nil
	}
	if slices.ContainsFunc(t.Flows, func(f record.Flow) bool { return f.TCP != nil && f.TCP.Congestion != "" }) {
		return nil // it is known; see uncontrolled
	}
	senders := record.Those(t.Endpoints, func(e record.Endpoint) bool {
		return t.Cell.Workload == record.TCPBidir || (e.Role == "server") == t.Cell.Options.Reverse
	})
	own := record.Distinct(senders, func(e record.Endpoint) string { return e.Sysctls["net.ipv4.tcp_congestion_control"] })
	own = slices.DeleteFunc(own, func(name string) bool { return name == "" || name == wanted })
	return record.Warn(len(own) > 0, record.WarnOwnControl,
		"%s cannot choose the congestion control: its connections had the senders' own, %s, and those of tools that can had %s", t.Cell.Tool, strings.Join(own, " and "), wanted)
}

// uncontrolled describes how connections did not use the requested congestion control, or used
// different ones if none was requested, or returns "". Figures that are compared need the same one.
func (a *attempt) uncontrolled(res workload.Result) string {
	seen := slices.Clone(res.Congestion)
	for _, f := range res.Flows {
		if f.TCP != nil && f.TCP.Congestion != "" {
			seen = append(seen, f.TCP.Congestion)
		}
	}
	slices.Sort(seen)
	seen = slices.Compact(seen)
	switch told := a.job.Options.Congestion; {
	case len(seen) > 1:
		return "connections used different congestion controls: " + strings.Join(seen, ", ")
	case len(seen) == 1 && told != "" && seen[0] != told:
		return fmt.Sprintf("connections used congestion control %s instead of the requested %s", seen[0], told)
	}
	return ""
}

// tool returns a tool that can be used here.
func (r *Runner) tool(ctx context.Context, name string) (workload.Tool, error) {
	tool, ok := r.Tools[name]
	if !ok {
		return tool, fmt.Errorf("no tool %s", name)
	}
	r.probing.Lock()
	defer r.probing.Unlock()
	if tool.Probe == nil || r.probed["tool "+name] {
		return tool, nil
	}
	if err := tool.Probe(ctx); err != nil {
		return tool, err
	}
	r.probed["tool "+name] = true
	return tool, nil
}
