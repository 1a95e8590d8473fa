package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"nettoll/internal/atonce"
	"nettoll/internal/await"
	"nettoll/internal/emulated"
)

// How long the removal of an object is tried. A restarted engine first ends the containers that it
// finds, each of which has 10 s to end by itself, and does not answer meanwhile. An engine that answers
// may refuse for a moment: a container may be ending by itself, or a network may be waiting for its
// last container.
var (
	absenceTime = 40 * time.Second
	refusalTime = 15 * time.Second
)

// remove removes an object and returns when it is gone.
func (o Object) remove(ctx context.Context, c *client.Client) error {
	var said error      // the last error that is not a timeout, if there is one
	var since time.Time // when the engine began to refuse
	err := await.Until(ctx, emulated.Patience(absenceTime), pause, func(ctx context.Context) (missing, err error) {
		err = o.removeOnce(ctx, c)
		if err == nil || gone(err) {
			return nil, nil
		}
		if said == nil || !errors.Is(err, context.DeadlineExceeded) {
			said = err
		}
		switch {
		case o.Kind == "image" && cerrdefs.IsConflict(err): // a container uses it, and nobody here ends that
			return nil, err
		case away(err):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > emulated.Patience(refusalTime):
			return nil, err
		}
		return err, nil
	})
	if err != nil {
		return failed(said, "remove %s", o)
	}
	return nil
}

// removal returns a function that removes an object.
func (e *Engine) removal(o Object) removal {
	return func(ctx context.Context) error { return o.remove(ctx, e.Client) }
}

// RemoveBut removes all containers of the network except these, several at a time.
func (h *Host) RemoveBut(ctx context.Context, these ...*Container) error {
	e := h.Engine
	all, err := e.Client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", Label+"="+e.Run),
	})
	if err != nil {
		return failed(err, "list containers")
	}
	return errors.Join(atonce.Each(atOnce, all.Items, func(_ int, c container.Summary) error {
		own := slices.ContainsFunc(c.Names, func(name string) bool { return strings.HasPrefix(name, "/"+h.fullName(h.name)) })
		if !own || slices.ContainsFunc(these, func(k *Container) bool { return k.id == c.ID }) {
			return nil
		}
		return Object{Kind: "container", Name: c.ID, id: c.ID}.remove(ctx, e.Client)
	})...)
}

// away reports whether the engine did not answer.
func away(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.As(err, new(*url.Error)) || errors.Is(err, context.DeadlineExceeded)
}

// errStays is the error for an object that still exists after the engine has removed it.
var errStays = errors.New("it is still there after its removal")

// removeOnce makes one attempt.
func (o Object) removeOnce(ctx context.Context, c *client.Client) (err error) {
	switch o.Kind {
	case "service":
		_, err = c.ServiceRemove(ctx, o.id, client.ServiceRemoveOptions{})
	case "container":
		_, err = c.ContainerRemove(ctx, o.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	case "network": // the nodes that had containers on a swarm's network keep it for a moment
		if _, err = c.NetworkRemove(ctx, o.id, client.NetworkRemoveOptions{}); err == nil {
			if _, err = c.NetworkInspect(ctx, o.id, client.NetworkInspectOptions{}); err == nil {
				err = errStays
			}
		}
	case "image": // with its last name, the image is removed
		_, err = c.ImageRemove(ctx, o.id, client.ImageRemoveOptions{Force: o.force, PruneChildren: true})
	case "volume":
		_, err = c.VolumeRemove(ctx, o.id, client.VolumeRemoveOptions{})
	default:
		err = fmt.Errorf("there is no kind %s", o.Kind)
	}
	return err
}
