package daemon

import (
	"errors"
	"os/exec"

	"nettoll/platform"
)

// InPath gives the path of a program that daemons run as it is in PATH. get is the command
// that gets it.
func InPath(name, get string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &platform.Unsupported{Feature: name, Option: "the program " + name, Remedy: get, Err: errors.Unwrap(err)}
	}
	return path, nil
}
