package networktest

import (
	"context"
	"testing"

	"nettoll/docker/engine"
	"nettoll/platform"
)

// keep gives hosts for the network that stay when its networks are closed, and the
// platform on which networks are built on these.
func (s *subject) keep(t *testing.T, n int) (platform.Platform, platform.Hosts) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req := platform.HostRequest{Count: n}
	if !s.engines {
		k := &kept{Platform: s.platform}
		if _, err := k.Hosts(ctx, req); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { k.hosts.Close(context.Background()) })
		return k, k.hosts
	}
	// Those with engines stay anyhow. Which they are depends on the engines' settings.
	ask := s.platform.Hosts
	if s.own() {
		ask = func(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
			return s.HostsOn(ctx, s.platform, req)
		}
	}
	hosts, err := ask(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts.All() { // engines keep their image
		if d, ok := h.(*engine.Host); ok {
			if _, err := d.Engine.Load(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s.platform, hosts
}

// kept is a platform whose hosts stay when a network is closed.
type kept struct {
	platform.Platform
	hosts platform.Hosts
}

// Hosts implements platform.Platform.
func (k *kept) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	if k.hosts == nil {
		var err error
		if k.hosts, err = k.Platform.Hosts(ctx, req); err != nil {
			return nil, err
		}
	}
	return stay{k.hosts}, nil
}

type stay struct{ platform.Hosts }

func (stay) Close(context.Context) error { return nil }

func (stay) Transient() bool { return false }
