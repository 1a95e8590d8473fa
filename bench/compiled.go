package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// compiled is nettoll, built from the source at hand, in a folder.
func compiled(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "nettoll")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/nettoll")
	build.Stderr = os.Stderr
	return program, build.Run()
}
