package cni

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nettoll/internal/undo"
)

// machineState is where plugins keep what they remember unless they are told another
// place, by convention.
const machineState = "/var/lib/cni"

// hide gives plugins an empty folder in the place of the machine's, on which other
// networks of this machine depend. In a lab, mounts are seen by nobody else. Where the
// machine has no such folder none is made.
func hide(stack *undo.Stack, dir string) error {
	if info, err := os.Stat(machineState); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	own := filepath.Join(dir, "state")
	if err := os.Mkdir(own, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(own, machineState, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount over %s: %w", machineState, err)
	}
	stack.Push("mount over "+machineState, func(context.Context) error {
		return unix.Unmount(machineState, unix.MNT_DETACH)
	})
	return nil
}
