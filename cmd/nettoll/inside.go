package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"nettoll/docker/engine"
	"nettoll/platform/lab"
)

// inLab runs fn inside a lab: this process becomes the outer one, and another,
// with the same arguments, comes here again and is inside.
func inLab(ctx context.Context, o lab.EnterOptions, fn func(context.Context) error) error {
	if !lab.Inside() {
		o.Done, o.Remove = ctx.Done(), engine.RemoveCgroups
		status, err := lab.Enter(o)
		if err != nil {
			return err
		}
		if status != exitOK {
			return exitError(status)
		}
		return nil
	}
	if err := lab.Prepare(); err != nil {
		return err
	}
	// Nobody may be listening any more, as behind head: what is measured is kept
	// all the same. Caught and not ignored, so that a lab's shell is as usual.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return fn(ctx)
}
