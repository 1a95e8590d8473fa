// Package published measures a port that a host publishes for a container behind
// Docker's bridge: by DNAT, or by a user-space proxy as docker-proxy is one. The
// client is outside: a process of the same host, or of the other one.
package published

import (
	"context"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// Technique is published in one of its variants.
type Technique struct {
	proxy bool
}

// New gives the variant by DNAT.
func New() Technique { return Technique{} }

// NewProxy gives the variant by a user-space proxy.
func NewProxy() Technique { return Technique{proxy: true} }

// Name implements network.Technique.
func (t Technique) Name() string {
	if t.proxy {
		return "published-proxy"
	}
	return "published"
}

// About implements network.Technique.
func (t Technique) About() string {
	if t.proxy {
		return "a port of the host, forwarded by a user-space proxy to a container behind a bridge; the client is a process of a host"
	}
	return "a port of the host, translated (DNAT) to a container behind a bridge; the client is a process of a host"
}

// Hosts implements network.Technique.
func (Technique) Hosts() []int { return []int{1, 2} }

// Overflow says that neighbours beyond MaxEndpoints get bridges of their own.
func (Technique) Overflow() bool { return true }

// MaxEndpoints is how many containers one host can hold.
func (Technique) MaxEndpoints() int { return plumb.MaxPorts }

// Probe implements network.Technique.
func (Technique) Probe(ctx context.Context, _ platform.Platform) error {
	return plumb.Check(ctx, plumb.Veth, plumb.BridgeDevice, plumb.BridgeNetfilter, plumb.NAT)
}
