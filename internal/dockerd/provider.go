package dockerd

import (
	"context"

	"nettoll/platform"
)

// Provider is a platform whose hosts run Docker engines.
type Provider interface {
	platform.Platform
	// Engines gives hosts whose engines have the settings. The error wraps
	// platform.ErrUnsupported where there are none.
	Engines(ctx context.Context, req platform.HostRequest, s Settings) (Hosts, error)
}

// Hosts are hosts with engines.
type Hosts interface {
	platform.Hosts
	Docker() []*Host
}
