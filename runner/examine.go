package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"slices"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
)

// examineTime bounds the search for what made a trial fail.
const examineTime = 4 * time.Second

// explained is a failure whose cause was found.
type explained struct {
	finding
	error // what was seen of it
}

func (e *explained) Unwrap() error { return e.error }

// Error says the cause before what was seen of it.
func (e *explained) Error() string { return joined(e.text, oneLine(e.error)) }

// examine looks for what made a trial fail, notes it on the trial and gives the failure,
// with its cause where that is known. One that somebody interrupted has none.
func (s *session) examine(ctx context.Context, t *record.Trial, links []link, before map[string]uint64, failure error) error {
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(failure, platform.ErrUnsupported) {
		return failure
	}
	if ctx.Err() != nil { // the trial's time is up
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	after, err := s.count(ctx, links)
	if err != nil {
		return failure // what broke the trial keeps its network from being read, too
	}
	t.Counters = sampler.Delta(before, after)
	sc, err := s.scene(t, links)
	if err != nil {
		return failure
	}
	all := findings(sc)
	var cause *finding
	if i := slices.IndexFunc(all, func(f finding) bool { return f.code == FoundChecksums }); i >= 0 {
		cause = &all[i]
	} else if hole, ok := s.probe(ctx, sc, links[0]); ok {
		// It says more than that packets may be too large.
		all = append([]finding{hole}, slices.DeleteFunc(all, func(f finding) bool { return f.code == FoundMTU })...)
		cause = &hole
	}
	for _, f := range all {
		t.Warnings = append(t.Warnings, f.warning())
	}
	if cause == nil {
		return failure
	}
	return &explained{*cause, failure}
}

// mostProbed is the largest MTU that is tried, that of jumbo frames. What is larger, such as
// a loopback device's, leads nowhere.
const mostProbed = 9216 // bytes

// probe tries how large the packets may be that cross between two endpoints.
func (s *session) probe(ctx context.Context, sc scene, l link) (f finding, ok bool) {
	client, server := sc.end(l.client.Name(), "client"), sc.end(l.server.Name(), "server")
	if most := max(client.MTU, server.MTU); most > mostProbed || client.MTU == 0 || server.MTU == 0 {
		return f, false
	}
	for _, m := range []*AgentEndpoint{l.client, l.server} { // one may have died of what went wrong
		if _, err := m.Agent(ctx); err != nil {
			return f, false
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	cookie := make([]byte, 16)
	rand.Read(cookie)
	echoing := make(chan struct{})
	go func() {
		defer close(echoing)
		_ = l.server.Call(ctx, sampler.MethodEcho, sampler.Echo{At: netip.AddrPortFrom(l.atServer, uint16(l.own[0])), Cookie: cookie}, nil)
	}()
	var r sampler.Reached
	err := l.client.Call(ctx, sampler.MethodReach, sampler.Reach{
		To: netip.AddrPortFrom(l.toServer, uint16(l.own[0])), Cookie: cookie, MTU: max(client.MTU, server.MTU),
	}, &r)
	cancel()
	<-echoing
	if err != nil {
		return f, false
	}
	_, announced := sc.most(sc.hosts, "IcmpOutDestUnreachs", "Icmp6OutPktTooBigs")
	f, ok = blackHole(client, server, r, announced > 0)
	if _, size := sc.narrowest(); ok && size > 0 {
		f.remedy = setMTU(min(size, r.There, r.Back))
	}
	return f, ok
}

// end finds an endpoint in its role.
func (sc scene) end(name, role string) record.Endpoint {
	for _, e := range sc.ends {
		if e.Name == name && e.Role == role {
			return e
		}
	}
	return record.Endpoint{}
}
