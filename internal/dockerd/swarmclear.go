package dockerd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/moby/moby/client"
)

// Clear removes all services and containers of private engines, whoever has made them,
// so that nothing of theirs is left when they end. Engines of the user's it leaves alone.
func Clear(ctx context.Context, hosts []*Host) error {
	errs := make([]error, len(hosts))
	var clearing sync.WaitGroup
	for i, h := range hosts {
		if h.under != nil {
			clearing.Go(func() { errs[i] = h.clear(ctx) })
		}
	}
	clearing.Wait()
	return errors.Join(errs...)
}

func (h *Host) clear(ctx context.Context) error {
	var errs []error
	// Workers cannot be asked for services.
	if services, err := h.Engine.Client.ServiceList(ctx, client.ServiceListOptions{}); err == nil {
		for _, s := range services.Items {
			errs = append(errs, h.Engine.removeService(ctx, s.ID))
		}
	}
	all, err := h.Engine.Client.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		return fmt.Errorf("docker: list containers of %s: %w", h.name, brief(err))
	}
	for _, c := range all.Items {
		errs = append(errs, (&Container{engine: h.Engine, name: c.ID, id: c.ID}).remove(ctx))
	}
	return errors.Join(errs...)
}
