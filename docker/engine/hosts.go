package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/emulated"
	"nettoll/platform"
	"nettoll/record"
)

// Hosts are hosts with engines, in use by one network.
type Hosts struct {
	Docker  []*Host
	Swarm   *Swarm                      // that all engines are nodes of; nil if none was requested
	Free    func()                      // releases the engines for others; nil if others may use them in any case
	Discard func(context.Context) error // ends the engines, if they are private; nil otherwise
	// Apart says why nothing can be sent between the hosts themselves, which are several machines of the user's; nil if it
	// can: then they have uplinks.
	Apart error
}

// Transient implements platform.Hosts. Engines outlive networks, so it is false.
func (*Hosts) Transient() bool { return false }

// All implements platform.Hosts.
func (h *Hosts) All() []platform.Host {
	return record.Each(h.Docker, func(one *Host) platform.Host { return one })
}

// emptyTime bounds the removal of what was made on a private swarm. A node that cannot be reached keeps its
// networks in use.
const emptyTime = 25 * time.Second

// Close implements platform.Hosts: it removes what was made, and keeps the engines for the next network. Private
// engines on which something cannot be removed, such as one that has ended, or that have not ended a process, are given up.
func (h *Hosts) Close(ctx context.Context) error {
	if h.Free != nil {
		defer h.Free()
	}
	limit := time.Duration(0)
	switch {
	case h.Discard == nil:
	case h.Swarm != nil:
		limit = emptyTime
	case !allAnswer(ctx, h.Docker):
		limit = hangTime
	}
	if limit > 0 {
		within, cancel := context.WithTimeout(ctx, emulated.Patience(limit))
		defer cancel()
		ctx = within
	}
	all := h.Docker
	if h.Swarm != nil && !slices.Contains(all, h.Swarm.Manager) {
		all = append(slices.Clip(all), h.Swarm.Manager)
	}
	// All at the same time, since the manager's networks can be removed only when the containers on all hosts are
	// gone.
	err := errors.Join(atonce.Each(-1, all, func(_ int, host *Host) error { return host.Empty(ctx) })...)
	if err == nil && h.Swarm != nil {
		err = settle(ctx, all)
	}
	sick := slices.ContainsFunc(h.Docker, func(host *Host) bool { return host.Engine.sick.Load() })
	if (err != nil || sick) && h.Discard != nil {
		return h.Discard(context.WithoutCancel(ctx))
	}
	return err
}

// allAnswer reports whether all engines answer.
func allAnswer(ctx context.Context, hosts []*Host) bool {
	ctx, cancel := context.WithTimeout(ctx, emulated.Patience(faultTime))
	defer cancel()
	return record.Try(hosts, func(h *Host) error { return h.answers(ctx) }) == nil
}
