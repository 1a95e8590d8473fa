package daemon

import (
	"errors"
	"os/exec"

	"nettoll/internal/program"
	"nettoll/platform"
)

// Program is a program that a network needs.
type Program struct {
	Name, Get string // Get is the command that installs it
	// InPath means that daemons run it from PATH, wherever nettoll is configured to find it.
	InPath bool
}

// Find returns the paths of programs by name. The error is about the first one that is missing.
func Find(paths program.Paths, wanted ...Program) (map[string]string, error) {
	found := map[string]string{}
	for _, p := range wanted {
		path, err := p.find(paths)
		if err != nil {
			return nil, err
		}
		found[p.Name] = path
	}
	return found, nil
}

func (p Program) find(paths program.Paths) (string, error) {
	if !p.InPath {
		return paths.Locate(p.Name, p.Get)
	}
	path, err := exec.LookPath(p.Name)
	if err != nil {
		return "", &platform.Unsupported{Feature: p.Name, Program: p.Name, Remedy: p.Get, Err: errors.Unwrap(err)}
	}
	return path, nil
}
