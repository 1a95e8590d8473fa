package dockerd

import (
	"context"
	"errors"
	"net/url"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// How long the removal of an object is tried. An engine that is started again first ends
// the containers that it finds, each of which has 10 s to end by itself, and does not
// answer meanwhile. One that answers may refuse for a moment: a container may be going
// by itself, a network may wait for its last container.
const (
	absenceTime = 25 * time.Second
	refusalTime = 8 * time.Second
)

// insist tries to remove an object until it is gone, as long as trying again makes
// sense. The error is the engine's.
func insist(ctx context.Context, remove func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, absenceTime)
	defer cancel()
	var said error      // not that time is up, where there is more to say
	var since time.Time // that the engine refuses
	for {
		err := remove(ctx)
		if err == nil || gone(err) {
			return nil
		}
		if said == nil || !errors.Is(err, context.DeadlineExceeded) {
			said = err
		}
		if away(err) {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		} else if time.Since(since) > refusalTime {
			return brief(said)
		}
		select {
		case <-ctx.Done():
			return brief(said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// away says that there was no answer.
func away(err error) bool {
	var request *url.Error
	return client.IsErrConnectionFailed(err) || errors.As(err, &request) || errors.Is(err, context.DeadlineExceeded)
}

// removeContainer ends a container and takes it away.
func removeContainer(ctx context.Context, c *client.Client, id string) error {
	return insist(ctx, func(ctx context.Context) error {
		_, err := c.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		return err
	})
}

// removeNetwork takes a network away and returns when it is gone: that of a swarm stays
// for a moment on the nodes that had containers on it.
func removeNetwork(ctx context.Context, c *client.Client, id string) error {
	return insist(ctx, func(ctx context.Context) error {
		if _, err := c.NetworkRemove(ctx, id, client.NetworkRemoveOptions{}); err != nil {
			return err
		}
		if _, err := c.NetworkInspect(ctx, id, client.NetworkInspectOptions{}); err != nil {
			return err
		}
		return errStays
	})
}

// errStays is for an object that the engine has removed and still has.
var errStays = errors.New("it is still there after its removal")

// removeImage takes a reference of an image away, and with its last one the image. force
// does so although there is a container of it.
func removeImage(ctx context.Context, c *client.Client, ref string, force bool) error {
	var used error // by a container, which nobody here ends
	err := insist(ctx, func(ctx context.Context) error {
		_, err := c.ImageRemove(ctx, ref, client.ImageRemoveOptions{Force: force, PruneChildren: true})
		if used = nil; cerrdefs.IsConflict(err) {
			used, err = err, nil
		}
		return err
	})
	return errors.Join(err, brief(used))
}

func removeService(ctx context.Context, c *client.Client, id string) error {
	return insist(ctx, func(ctx context.Context) error {
		_, err := c.ServiceRemove(ctx, id, client.ServiceRemoveOptions{})
		return err
	})
}

func removeVolume(ctx context.Context, c *client.Client, name string) error {
	return insist(ctx, func(ctx context.Context) error {
		_, err := c.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
		return err
	})
}
