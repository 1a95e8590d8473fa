package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nettoll/platform"
)

// runTime bounds a program that only does something and ends.
const runTime = 2 * time.Minute

// Run runs a program at an endpoint to its end, for no longer than ctx and runTime allow.
func Run(ctx context.Context, at platform.Endpoint, cmd platform.Command) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("%s did not end within %v", cmd.Path, runTime))
	defer cancel()
	p, err := at.Start(ctx, cmd)
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
