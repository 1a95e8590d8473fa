package runner

import (
	"context"
	"errors"

	"nettoll/network"
	"nettoll/platform"
)

// Recipe is how a network is built: by what, and on which platform.
type Recipe struct {
	Platform platform.Platform
	Driver   network.Driver
}

// probe finds out whether a network can be built here: its platform is asked until it has
// said yes or that it is not supported, its driver until it has said yes.
func (r *Runner) probe(ctx context.Context, name string, recipe Recipe) error {
	r.probing.Lock()
	defer r.probing.Unlock()
	on := recipe.Platform.Name()
	err, asked := r.usable[on]
	if !asked {
		err = recipe.Platform.Probe(ctx)
		if err == nil || errors.Is(err, platform.ErrUnsupported) {
			r.usable[on] = err // anything else may be better in the next round
		}
	}
	if err != nil || r.probed[name] {
		return err
	}
	if err := recipe.Driver.Probe(ctx, recipe.Platform); err != nil {
		return err
	}
	r.probed[name] = true
	return nil
}
