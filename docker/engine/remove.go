package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
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

// remove takes an object away and returns when it is gone.
func (o Object) remove(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, absenceTime)
	defer cancel()
	var said error      // not that time is up, where there is more to say
	var since time.Time // that the engine refuses
	err := until(ctx, func() (bool, error) {
		err := o.removeOnce(ctx, c)
		if err == nil || gone(err) {
			return true, nil
		}
		if said == nil || !errors.Is(err, context.DeadlineExceeded) {
			said = err
		}
		switch {
		case o.Kind == "image" && cerrdefs.IsConflict(err): // a container has it, which nobody here ends
			return false, err
		case away(err):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > refusalTime:
			return false, said
		}
		return false, nil
	})
	if err != nil {
		return failed(said, "remove %s", o)
	}
	return nil
}

// RemoveBut removes all containers of the run but these, several at a time.
func (e *Engine) RemoveBut(ctx context.Context, these ...*Container) error {
	all, err := e.Client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", Label+"="+e.Run),
	})
	if err != nil {
		return failed(err, "list containers")
	}
	return errors.Join(Each(atOnce, all.Items, func(_ int, c container.Summary) error {
		if slices.ContainsFunc(these, func(k *Container) bool { return k.id == c.ID }) {
			return nil
		}
		return Object{Kind: "container", Name: c.ID, id: c.ID}.remove(ctx, e.Client)
	})...)
}

// away says that there was no answer.
func away(err error) bool {
	var request *url.Error
	return client.IsErrConnectionFailed(err) || errors.As(err, &request) || errors.Is(err, context.DeadlineExceeded)
}

// errStays is for an object that the engine has removed and still has.
var errStays = errors.New("it is still there after its removal")

// removeOnce asks the engine once.
func (o Object) removeOnce(ctx context.Context, c *client.Client) (err error) {
	switch o.Kind {
	case "service":
		_, err = c.ServiceRemove(ctx, o.id, client.ServiceRemoveOptions{})
	case "container":
		_, err = c.ContainerRemove(ctx, o.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	case "network": // that of a swarm stays for a moment on the nodes that had containers on it
		if _, err = c.NetworkRemove(ctx, o.id, client.NetworkRemoveOptions{}); err == nil {
			if _, err = c.NetworkInspect(ctx, o.id, client.NetworkInspectOptions{}); err == nil {
				err = errStays
			}
		}
	case "image": // and with its last name the image
		_, err = c.ImageRemove(ctx, o.id, client.ImageRemoveOptions{Force: o.force, PruneChildren: true})
	case "volume":
		_, err = c.VolumeRemove(ctx, o.id, client.VolumeRemoveOptions{})
	default:
		err = fmt.Errorf("there is no kind %s", o.Kind)
	}
	return err
}
