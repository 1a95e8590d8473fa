package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/technique"
	"nettoll/workload"
)

// How much longer than its warm-up and window a trial may take: some programs know
// whole seconds only, and each client process has to be started.
const (
	grace       = 20 * time.Second
	graceClient = 50 * time.Millisecond
)

// trial measures one cell once. Whatever happens comes back as a trial.
func (s *session) trial(ctx context.Context, c record.Cell, began time.Time) record.Trial {
	t := record.Trial{Cell: c, Started: began}
	warmup, window := seconds(s.r.Settings.Warmup), seconds(s.r.Settings.Duration)
	more := s.r.patience(grace + time.Duration(c.Pairs())*graceClient)
	ctx, cancel := context.WithTimeoutCause(ctx, warmup+window+more,
		fmt.Errorf("the trial took more than %v beyond its window", more))
	defer cancel()
	if err := s.measure(ctx, &t, warmup, window); err != nil {
		var cause *explained
		known := errors.As(err, &cause)
		if known {
			t.Remedy = cause.remedy
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
			err = context.Cause(ctx) // says more than that time is up
			if known {
				err = &explained{cause.finding, err}
			}
		}
		t.Status, t.Reason = record.Failed, oneLine(err)
		if errors.Is(err, platform.ErrUnsupported) {
			t.Status = record.Skipped
			var missing *platform.Unsupported
			if errors.As(err, &missing) {
				t.Remedy = missing.Remedy
			}
		}
		t.Metrics, t.Latency = nil, nil
	}
	return t
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// link is a pair of endpoints with what belongs to it.
type link struct {
	client, server *Manned
	toServer       netip.Addr
	atServer       netip.Addr // what toServer is where it arrives
	toClient       netip.Addr
	hops           []technique.Hop
	port           int
	own            [2]int
	spare          int // a port of the server's that no trial uses
}

func (s *session) links(f technique.Family) ([]link, error) {
	servers, clients := s.network.Servers(), s.network.Clients()
	var links []link
	taken := make([]int, len(servers)) // clients of each server so far
	for i, c := range clients[:s.topo.Clients] {
		n := s.topo.Pair(i)
		sv := servers[n]
		l := link{server: s.agents.man(sv, "server", 0), hops: s.network.Path(c, sv, f)}
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
			l.client = s.agents.man(c, "client", p)
			// The number of ports that are used is odd, and that of a block is even.
			l.port, l.spare = s.topo.Ports(n)
			l.own = [2]int{l.port + 1 + 2*taken[n], l.port + 2 + 2*taken[n]}
			taken[n]++
			links = append(links, l)
		}
	}
	return links, nil
}

func (s *session) measure(ctx context.Context, t *record.Trial, warmup, window time.Duration) error {
	tool, err := s.r.tool(ctx, t.Cell.Tool)
	if err != nil {
		return err
	}
	links, err := s.links(technique.Family(t.Cell.Family))
	if err != nil {
		return err
	}
	if err := s.condition(ctx, t.Cell, links); err != nil {
		return err
	}
	if t.Endpoints, err = facts(ctx, links); err != nil {
		return err
	}
	house(t.Endpoints, links)
	if f := technique.Family(t.Cell.Family); !s.greeted[f] {
		before, err := s.count(ctx, links)
		if err != nil {
			return err
		}
		if err := s.greet(ctx, f, links); err != nil {
			return s.examine(ctx, t, links, before, err)
		}
	}
	before, err := s.look(ctx, links)
	if err != nil {
		return err
	}
	paths := make([][]technique.Hop, len(links))
	for i, l := range links {
		paths[i] = l.hops
	}
	proof, err := begin(ctx, paths)
	if err != nil {
		return fmt.Errorf("prove path: %w", err)
	}

	at, err := s.machines(ctx, links)
	if err != nil {
		return err
	}
	at.name(t.Endpoints, links)
	w := newWatcher(at, s, links)
	job := workload.Job{
		Workload: t.Cell.Workload, Options: t.Cell.Options, Warmup: warmup, Duration: window,
		CPUs:  at.place(t.Cell.Placement, links),
		Watch: w.watch(ctx),
	}
	for _, l := range links {
		job.Pairs = append(job.Pairs, workload.Pair{
			Client: l.client, Server: l.server, Addr: l.toServer, Listen: l.atServer, Port: l.port, Own: l.own,
		})
	}
	place(t.Endpoints, job.CPUs)
	res, err := tool.Run(ctx, job)
	if err != nil {
		return s.examine(ctx, t, links, before.counters, err)
	}
	s.r.spent += warmup + res.Window
	return s.complete(ctx, t, res, w, proof, links, before)
}

// complete turns what was measured into the trial's figures, if the path holds.
func (s *session) complete(ctx context.Context, t *record.Trial, res workload.Result, w *watcher, p *proof, links []link, before sight) error {
	if len(res.Crossed) != len(links) || len(res.Metrics) == 0 {
		return fmt.Errorf("tool %s gave %d figures, and said of %d of %d pairs what they exchanged",
			t.Cell.Tool, len(res.Metrics), len(res.Crossed), len(links))
	}
	pairs := make([]carried, len(links))
	for i := range links {
		pairs[i] = carried{res.Crossed[i].Bytes, res.Crossed[i].Conns}
	}
	var err error
	if t.Path, err = p.finish(ctx, pairs); err != nil {
		return fmt.Errorf("prove path: %w", err)
	}
	after, err := s.look(ctx, links)
	if err != nil {
		return err
	}
	t.Counters = sampler.Delta(before.counters, after.counters)
	use, doubts, err := w.use(res.Window)
	if err != nil {
		return err
	}
	use.Client, use.Server = res.Client, res.Server
	idle, watched := w.at.idle()
	use.Idle, use.Watched = max(0, idle), watched
	use.Client.Host, use.Server.Host = hostOfRole(t.Endpoints, "client"), hostOfRole(t.Endpoints, "server")
	t.CPU = &use
	t.Window, t.Latency, t.Flows, t.Warnings = res.Window.Seconds(), res.Latency, res.Flows, append(res.Warnings, doubts...)
	var transactions float64
	for _, f := range res.Flows {
		transactions += float64(f.Transactions)
	}
	if rate := res.Metrics[record.TransactionRate].Value; transactions == 0 { // less than one
		transactions = rate * res.Window.Seconds()
	}
	t.Course, t.Covered = res.Course, res.Covered
	t.Metrics = res.Metrics
	share(t)
	if n, ok := s.network.(technique.Remarker); ok {
		for _, text := range n.Remarks() {
			t.Warnings = append(t.Warnings, record.Warning{Code: "remark", Text: text})
		}
	}
	sc, err := s.scene(t, links)
	if err != nil {
		return err
	}
	for _, f := range findings(sc) {
		t.Warnings = append(t.Warnings, f.warning())
	}
	cost(t, idle, float64(res.Bytes), transactions)
	t.Warnings = append(t.Warnings, unsettled(s.settling, s.unheard)...)
	t.Warnings = append(t.Warnings, foreignTraffic(t, p, before.ports, after.ports, len(links), after.at.Sub(before.at))...)
	t.Warnings = append(t.Warnings, w.foreignWork(use, res.Window)...)
	t.Status = record.OK
	if wrong := cmp.Or(verdict(t.Path), changed(p, before, after, s.bridge)); wrong != "" {
		t.Status, t.Reason = record.Invalid, wrong
	}
	return nil
}

// tool finds a tool that can be used here.
func (r *Runner) tool(ctx context.Context, name string) (workload.Tool, error) {
	tool, ok := r.Tools[name]
	if !ok {
		return nil, fmt.Errorf("no tool %s", name)
	}
	prober, can := tool.(workload.Prober)
	if !can || r.probed["tool "+name] {
		return tool, nil
	}
	if err := prober.Probe(ctx); err != nil {
		return nil, err
	}
	r.probed["tool "+name] = true
	return tool, nil
}
