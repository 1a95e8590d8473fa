package lab

import (
	"context"
	"fmt"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/platform"
)

// host is a namespace on the underlay.
type host struct {
	endpoint
	site  *site
	index int
	next  int // number of the last container
}

// Uplink implements platform.Host.
func (h *host) Uplink() platform.Uplink { return uplink(h.index, h.site.mtu) }

// Containers implements platform.Host.
func (h *host) Containers(ctx context.Context, n int) ([]platform.Endpoint, error) {
	all, err := h.site.namespace(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("lab: %s: make %d containers: %w", h.name, n, err)
	}
	endpoints := make([]platform.Endpoint, n)
	for i, ns := range all {
		var b nl.Batch
		b.SetUp("lo")
		if err := b.Do(ctx, ns.Path()); err != nil {
			return nil, fmt.Errorf("lab: %s: set lo up: %w", h.name, err)
		}
		endpoints[i] = h.container(ns)
	}
	return endpoints, nil
}

// Share implements platform.Sharer.
func (h *host) Share(_ context.Context, with platform.Endpoint) (platform.Endpoint, error) {
	e, ok := with.(*endpoint)
	if !ok {
		return nil, fmt.Errorf("lab: %s is not a container of this lab", with.Name())
	}
	return h.container(e.ns), nil
}

func (h *host) container(ns *netns.NS) *endpoint {
	h.next++
	return &endpoint{name: fmt.Sprintf("%sc%d", h.name, h.next), host: h.name, ns: ns}
}
