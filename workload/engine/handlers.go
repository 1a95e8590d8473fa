package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"nettoll/agent"
	"nettoll/record"
)

// Methods of an agent that includes the engine.
const (
	methodServe   = "engine.serve"
	methodConnect = "engine.connect"
	methodClock   = "engine.clock"
	methodAnswer  = "engine.answer"
	methodCompare = "engine.compare"
	methodStart   = "engine.start"
	methodStop    = "engine.stop"
)

// flowSpec describes one flow to one of its ends.
type flowSpec struct {
	Label string         `json:"label"`
	Kind  int            `json:"kind"`            // its place among the flows of a client
	CPU   int            `json:"cpu"`             // -1 is any
	To    netip.AddrPort `json:"to,omitzero"`     // client: where the server is
	Index int            `json:"index,omitempty"` // client: the flow's number at the server
}

// openParams begin a session: a server's (serve) or a client's (connect).
type openParams struct {
	Session  string           `json:"session"` // chosen by the caller
	Workload string           `json:"workload"`
	Options  record.Options   `json:"options"`
	Cookie   []byte           `json:"cookie"`
	Limit    time.Duration    `json:"limit"` // for making a connection
	Flows    []flowSpec       `json:"flows"`
	Listen   []netip.AddrPort `json:"listen,omitempty"` // server: every address at which clients reach it
}

// openResult reports that the server listens, or that the client is connected.
type openResult struct {
	Warnings []record.Warning `json:"warnings,omitempty"`
}

// clockResult is the agent's clock.
type clockResult struct {
	Now int64 `json:"now_ns"`
}

type startParams struct {
	Session  string        `json:"session"`
	Begins   int64         `json:"begins_ns,omitempty"` // by the agent's clock; 0 means at once
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	Wait     time.Duration `json:"wait,omitempty"` // for flows that received nothing in the window; 0 is lastWait
	// Turns, by the agent's clock, each have a warm-up and a window, and the flows rest between
	// them and afterwards. Begins is then ignored.
	Turns   []int64       `json:"turns_ns,omitempty"`
	Cold    int           `json:"cold,omitempty"`     // number of turns at the beginning that do not count
	ColdFor time.Duration `json:"cold_for,omitempty"` // how long their windows are; 0 is Duration
	Drain   time.Duration `json:"drain,omitempty"`    // more time for data in flight to arrive after each turn
	Over    int64         `json:"over_ns,omitempty"`  // when the turns of other networks are over, too, and results are computed
}

// startResult is the result of the window, or of the window of each turn. The latencies of turns
// are known only for all counted turns together.
type startResult struct {
	windowResult
	CPU     cpuTime       `json:"cpu"`
	Turns   []startResult `json:"turns,omitempty"`
	Counted string        `json:"counted_hdr_v2,omitempty"`
	Late    time.Duration `json:"late,omitempty"` // how much too late the start was told; then nothing was measured
}

// windowResult is the result of a window at one end. Units are payload bytes or transactions, of
// each flow that this end measures; the parts of the window and the histograms sum over all its
// flows.
type windowResult struct {
	Units      []float64 `json:"units,omitempty"`
	Bytes      []float64 `json:"bytes,omitempty"`        // in each part
	Ended      []float64 `json:"transactions,omitempty"` // in each part
	Latencies  string    `json:"hdr_v2,omitempty"`
	Connects   string    `json:"connects_hdr_v2,omitempty"`
	Unloaded   string    `json:"unloaded_hdr_v2,omitempty"`
	Covered    int64     `json:"covered_ns,omitempty"` // time in which a transaction was under way, summed over the flows
	Unfinished int64     `json:"unfinished,omitempty"` // transactions that had not ended when they were counted
	Cold       int       `json:"cold,omitempty"`       // flows that had received nothing when the window opened
	Silent     int       `json:"silent,omitempty"`     // flows that received nothing while it was open
	Mute       []int     `json:"mute,omitempty"`       // flows, by their numbers, that received nothing after it either
	From       []int64   `json:"from,omitempty"`       // what each flow had finished when its turn began, in its units
}

type stopParams struct {
	Session string `json:"session"`
}

// stopResult is the result of a session. Totals are since the connections were made.
type stopResult struct {
	Totals    []int64           `json:"totals,omitempty"`
	Conns     []int64           `json:"conns,omitempty"` // connections in addition to the flow's own
	Datagrams []*datagrams      `json:"datagrams,omitempty"`
	TCP       []*record.TCPInfo `json:"tcp,omitempty"`
	Controls  []string          `json:"controls,omitempty"` // TCP congestion control of each flow, where its connection lasts
	Strangers int64             `json:"strangers,omitempty"`
	Left      []int             `json:"left,omitempty"` // bytes that were still on their way after each turn
}

// Handlers returns the engine's half of an agent, to be passed to agent.Serve. It serves any number
// of trials, in sequence or at once. Trials still in progress when ctx ends are ended.
func Handlers(ctx context.Context) map[string]agent.Handler { return Spinning(ctx, 0) }

// Spinning returns Handlers whose servers spin for the given time, by their own clock, before they
// answer a request of tcp_rr. A test of the instrument uses it as a network that is slower by a
// known amount.
func Spinning(ctx context.Context, spin time.Duration) map[string]agent.Handler {
	h := &half{process: &process{}, sessions: map[string]*session{}, spin: spin}
	context.AfterFunc(ctx, h.endAll)
	return h.handlers()
}

func (h *half) handlers() map[string]agent.Handler {
	return map[string]agent.Handler{
		methodServe:   agent.Typed(h.serve),
		methodConnect: agent.Typed(h.connect),
		methodClock:   agent.Typed(readClock),
		methodAnswer:  agent.Typed(clock(nanotime).answer),
		methodCompare: agent.Typed(clock(nanotime).compare),
		methodStart:   agent.Typed(h.start),
		methodStop:    agent.Typed(h.stop),
	}
}

// half holds the sessions of one agent.
type half struct {
	process *process
	spin    time.Duration // of servers, see Spinning

	mu       sync.Mutex
	over     bool
	sessions map[string]*session
}

func (h *half) serve(ctx context.Context, p openParams) (openResult, error) {
	s, err := h.open(ctx, server, p)
	if err != nil {
		return openResult{}, err
	}
	if err := s.listen(p.Listen); err != nil {
		s.end()
		return openResult{}, err
	}
	return h.keep(ctx, p.Session, s)
}

func (h *half) connect(ctx context.Context, p openParams) (openResult, error) {
	s, err := h.open(ctx, client, p)
	if err != nil {
		return openResult{}, err
	}
	if err := s.dialAll(ctx, p.Flows); err != nil {
		return openResult{}, err
	}
	return h.keep(ctx, p.Session, s)
}

// maxFlows bounds the flows of a process, each of which can have a thread. On machines with up to 32
// CPUs, Linux has no more processes and threads by default (kernel.pid_max).
const maxFlows = 32768

func (h *half) open(ctx context.Context, r role, p openParams) (*session, error) {
	w, o, err := trafficOf(p.Workload, p.Options)
	if err != nil {
		return nil, err
	}
	if len(p.Cookie) != cookieSize {
		return nil, fmt.Errorf("cookie of %d bytes: %d are needed", len(p.Cookie), cookieSize)
	}
	if len(p.Flows) > maxFlows {
		return nil, fmt.Errorf("%d flows: one process has at most %d", len(p.Flows), maxFlows)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	p.Options = o
	p.Limit = max(p.Limit, handshakeLimit)
	s, err := newSession(r, w, h.process, p)
	if err == nil {
		for _, f := range s.flows {
			f.spin = int64(h.spin)
		}
	}
	return s, err
}

// keep registers a session. A caller that has given up meanwhile will not ask for the session
// again, so then it ends here.
func (h *half) keep(ctx context.Context, name string, s *session) (openResult, error) {
	h.mu.Lock()
	err := context.Cause(ctx)
	if _, taken := h.sessions[name]; taken {
		err = fmt.Errorf("session %q exists already", name)
	}
	if h.over {
		err = errHalted
	}
	if err == nil {
		h.sessions[name] = s
	}
	h.mu.Unlock()
	if err != nil {
		s.end()
		return openResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return openResult{Warnings: s.warnings}, nil
}

func (h *half) start(ctx context.Context, p startParams) (startResult, error) {
	h.mu.Lock()
	s, ok := h.sessions[p.Session]
	h.mu.Unlock()
	if !ok {
		return startResult{}, fmt.Errorf("start: no session %q", p.Session)
	}
	if p.Warmup < 0 || p.Duration <= 0 || p.Duration > time.Duration(highestLatency) {
		return startResult{}, errors.New("start: the window must be longer than 0 and at most an hour")
	}
	begins, rest := p.Turns, len(p.Turns) > 0
	if !rest {
		begins = []int64{cmp.Or(p.Begins, nanotime())}
	}
	s.drain = p.Drain
	used, err := s.start(ctx, turnsAt(begins, p.Warmup, p.Duration, p.Cold, cmp.Or(p.ColdFor, p.Duration)), rest, p.Cold, cmp.Or(p.Wait, lastWait))
	if late, ok := errors.AsType[errLate](err); ok {
		return startResult{Late: time.Duration(late)}, nil
	}
	if err == nil {
		err = s.moved()
	}
	if err != nil {
		return startResult{}, err
	}
	if !rest {
		w, err := s.windowResult(func(f *flow) (*window, *latencies) { return &f.window, f.latencies })
		return startResult{windowResult: w, CPU: used[0]}, err
	}
	if !sleepUntil(p.Over, ctx.Done()) {
		return startResult{}, context.Cause(ctx)
	}
	var r startResult
	for i := range begins {
		w, err := s.windowResult(func(f *flow) (*window, *latencies) { return &f.past[i], nil })
		if err != nil {
			return r, err
		}
		w.From = make([]int64, len(s.flows))
		for n, f := range s.flows {
			if f.measures() {
				w.From[n] = f.past[i].from
			}
		}
		r.Turns = append(r.Turns, startResult{windowResult: w, CPU: used[i]})
	}
	measured := record.Those(s.flows, (*flow).measures)
	r.Counted, err = encodeSum(record.Each(measured, func(f *flow) *latencies { return f.counted }))
	return r, err
}

// stop ends a session. An unknown one has ended already.
func (h *half) stop(_ context.Context, p stopParams) (stopResult, error) {
	h.mu.Lock()
	s, ok := h.sessions[p.Session]
	delete(h.sessions, p.Session)
	h.mu.Unlock()
	if !ok {
		return stopResult{}, nil
	}
	s.end()
	r := stopResult{Strangers: s.strangers.Load()}
	for _, f := range s.flows {
		r.Totals = append(r.Totals, f.total)
		r.Conns = append(r.Conns, f.conns)
		r.Datagrams = append(r.Datagrams, f.tally.figures())
		r.TCP = append(r.TCP, f.info)
		r.Controls = append(r.Controls, f.control)
		addTo(&r.Left, f.left)
	}
	return r, nil
}

func (h *half) endAll() {
	h.mu.Lock()
	h.over = true
	sessions := h.sessions
	h.sessions = nil
	h.mu.Unlock()
	for _, s := range sessions {
		s.end()
	}
}

// windowResult collects the counts of the flows in a window that is closed.
func (s *session) windowResult(of func(*flow) (*window, *latencies)) (r windowResult, err error) {
	r.Units = make([]float64, len(s.flows))
	var all, connects, unloaded []*latencies
	for i, f := range s.flows {
		if !f.measures() {
			continue
		}
		w, l := of(f)
		r.Units[i] = w.inside()
		sum := &r.Bytes
		if f.counts == transactions {
			sum = &r.Ended
		}
		addTo(sum, w.parts())
		if !f.open {
			r.Covered += w.covered
		}
		r.Unfinished += w.unfinished
		if w.before == w.from && w.opens > w.begins {
			r.Cold++
		}
		if w.silent {
			r.Silent++
		}
		if w.mute {
			r.Mute = append(r.Mute, i)
		}
		all, connects, unloaded = append(all, l), append(connects, f.connects), append(unloaded, f.unloaded)
	}
	var errs [3]error
	r.Latencies, errs[0] = encodeSum(all)
	r.Connects, errs[1] = encodeSum(connects)
	r.Unloaded, errs[2] = encodeSum(unloaded)
	return r, cmp.Or(errs[:]...)
}

// addTo adds figures to sums, element by element. A nil sum counts as zeros; there may be no figures
// to add.
func addTo[T int | int64 | float64](sum *[]T, of []T) {
	if *sum == nil && of != nil {
		*sum = make([]T, len(of))
	}
	for i := range min(len(*sum), len(of)) {
		(*sum)[i] += of[i]
	}
}
