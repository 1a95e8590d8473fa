package runner

import (
	"context"
	"errors"

	"nettoll/network"
	"nettoll/platform"
)

// Recipe is how a network is built: a technique, and the platform that it is built on.
type Recipe struct {
	Platform  platform.Platform
	Technique network.Technique
}

// probe finds out whether a network can be built here: its platform is asked until it has
// said yes or that it is not supported, its technique until it has said yes.
func (r *Runner) probe(ctx context.Context, network string, recipe Recipe) error {
	r.probing.Lock()
	defer r.probing.Unlock()
	name := recipe.Platform.Name()
	err, asked := r.usable[name]
	if !asked {
		err = recipe.Platform.Probe(ctx)
		if err == nil || errors.Is(err, platform.ErrUnsupported) {
			r.usable[name] = err // anything else may be better in the next round
		}
	}
	if err != nil || r.probed[network] {
		return err
	}
	if err := recipe.Technique.Probe(ctx, recipe.Platform); err != nil {
		return err
	}
	r.probed[network] = true
	return nil
}
