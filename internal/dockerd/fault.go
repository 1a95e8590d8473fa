package dockerd

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/moby/client"
)

// faultTime bounds the search for a fault.
const faultTime = 3 * time.Second

// Fault says what has become of what was made on the engine, for a trial that failed and
// does not know why: that the engine hangs or has ended, that a container has, or that
// a network was taken from one. It is nil where all is as it was made.
func (h *Host) Fault(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, faultTime)
	defer cancel()
	if _, err := h.Engine.Client.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("docker: the engine of %s: %w", h.name, brief(err))
	}
	h.mu.Lock()
	made := append([]*Container{}, h.made...)
	h.mu.Unlock()
	for _, c := range made {
		if err := c.fault(ctx); err != nil {
			return fmt.Errorf("docker: %w", err)
		}
	}
	return nil
}

func (c *Container) fault(ctx context.Context) error {
	is, err := c.engine.Client.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if err != nil && !gone(err) {
		return fmt.Errorf("container %s: %w", c.name, brief(err))
	}
	if err != nil || !is.Container.State.Running {
		if how := c.fate(c.age); how != nil {
			return how
		}
		return fmt.Errorf("container %s has ended", c.name)
	}
	for on := range c.nets {
		if is.Container.NetworkSettings.Networks[on] == nil {
			return fmt.Errorf("container %s is no longer on network %s: somebody took it away", c.name, on)
		}
	}
	return nil
}
