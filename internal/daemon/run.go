package daemon

import (
	"context"
	"errors"

	"nettoll/platform"
)

// Run runs a program on a host to its end, or until ctx is over.
func Run(ctx context.Context, h platform.Host, cmd platform.Command) error {
	p, err := h.Start(ctx, cmd)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill())
	}
}
