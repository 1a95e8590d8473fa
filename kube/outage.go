package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/emulated"
)

// The connections to pods go through the API server. When that ends, or a proxy on the way cuts them, all agents end, and
// with the keeper's the cluster removes what nettoll has made. The next network gets a new keeper, once the API server
// answers again.

const (
	// outage is how long a network waits for an API server that has cut the connections. It is less than a network may
	// take to be built. A cell may fail in record.GiveUp rounds in a row, and the first of these is usually the one in
	// which the connections were cut.
	outage = 45 * time.Second
	// starting is for how long an API server that has just started may refuse what it allows later.
	starting = 10 * time.Second
)

// absence is an API server that a network has waited for in vain.
type absence struct {
	since time.Time // the end of the wait
	err   error
}

// returned waits until the API server answers and says that it is ready. At first it refuses everything, since it does not
// know anybody's rights yet; but there are users who may never ask whether it is ready. Networks that asked before another
// one had waited in vain do not wait again.
func (o *Own) returned(ctx context.Context, asked time.Time) error {
	if o.absent.since.After(asked) {
		return o.absent.err
	}
	var refusing time.Time // since when
	err := await.Until(ctx, emulated.Patience(outage), ownPause, func(ctx context.Context) (missing, err error) {
		err = o.entrance.Ask(ctx, http.MethodGet, "/readyz", nil, nil)
		switch {
		case err == nil || errors.As(err, new(*url.Error)):
			return err, nil
		case errors.As(err, new(*Status)) && refusing.IsZero():
			refusing = time.Now()
		case errors.As(err, new(*Status)) && time.Since(refusing) > emulated.Patience(starting):
			return nil, nil
		}
		return errors.New("it says that it is not ready"), nil
	})
	if err == nil {
		return nil
	}
	err = o.away(err)
	if ctx.Err() == nil {
		err = fmt.Errorf("%w, for %v", err, emulated.Patience(outage))
	}
	o.absent = absence{time.Now(), err}
	return err
}

// severed is the error of networks whose keeper's connection was cut.
func (k *keeper) severed() error {
	return fmt.Errorf("the connections to nettoll's pods on %s were cut, by its API server or on the way to it", k.own.who())
}

// fault returns why the keeper has ended, with the cluster's reason if it has one; nil: it has not.
func (k *keeper) fault(ctx context.Context) error {
	lost := k.lost()
	if lost == nil {
		return nil
	}
	if age := time.Since(k.began); age > keeperLife { // the cluster says only that its pod is gone
		return fmt.Errorf("%s has ended nettoll's pods, which may stay there for a day, and were still in use: measure fewer networks at once (--together), or with shorter trials", k.own.who())
	}
	if why := k.pod.spec.Node.cluster.whyEnded(ctx, k.pod); why != "" {
		return fmt.Errorf("%s has ended nettoll's pods: %s has ended: %s", k.own.who(), k.pod.Name, why)
	}
	if k.pod.Containers[0].cut() {
		return k.severed()
	}
	return fmt.Errorf("%s has ended nettoll's pods: %w", k.own.who(), lost)
}

// passing reports whether a request on a cluster of the user's got no answer although the connections to pods stand. One of
// several API servers may have ended, and the next request reaches another one.
func (c *Cluster) passing(err error) bool {
	return err != nil && c.own != nil && c.keeper != nil && !errors.As(err, new(*Status)) && c.keeper.lost() == nil
}
