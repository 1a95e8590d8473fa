package main

import (
	"context"

	"nettoll/platform/lab"
)

// inLab runs fn inside a lab: this process becomes the outer one, and another,
// with the same arguments, comes here again and is inside.
func inLab(ctx context.Context, o lab.EnterOptions, fn func(context.Context) error) error {
	if !lab.Inside() {
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
	return fn(ctx)
}
