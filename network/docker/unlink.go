package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"nettoll/internal/dockerd"
)

// unlink removes all containers but the servers, before these: an engine finds the rules
// of a link by the container that it leads to, and keeps them for good where that has
// gone first.
func (n *build) unlink(ctx context.Context) error {
	e := n.hosts[0].Engine
	ours, err := e.Client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", dockerd.Label+"="+e.Run),
	})
	if err != nil {
		return fmt.Errorf("docker: list containers: %w", err)
	}
	const atOnce = 8
	errs := make([]error, len(ours.Items))
	var removing sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, c := range ours.Items {
		if slices.ContainsFunc(n.servers, func(s *node) bool { return s.container.ID() == c.ID }) {
			continue
		}
		free <- struct{}{}
		removing.Go(func() {
			defer func() { <-free }()
			errs[i] = remove(ctx, e.Client, c.ID)
		})
	}
	removing.Wait()
	return errors.Join(errs...)
}

// remove ends a container and returns when it is gone. It may be going by itself.
func remove(ctx context.Context, c *client.Client, id string) error {
	for {
		_, err := c.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || cerrdefs.IsNotFound(err):
			return nil
		case !cerrdefs.IsConflict(err):
			return fmt.Errorf("docker: remove container: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("docker: remove container: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
