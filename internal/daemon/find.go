package daemon

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"nettoll/internal/program"
	"nettoll/platform"
)

// Find gives the path of a program: the one that --tool-path names, or that in PATH, or that
// beside nettoll itself, where "make tools" puts it. get is the command that gets
// it, for the remedy.
func Find(paths program.Paths, name, get string) (string, error) {
	want := name
	if given := paths[name]; given != "" {
		want = given
	}
	path, err := exec.LookPath(want)
	if err == nil {
		return filepath.Abs(path)
	}
	if self, e := os.Executable(); e == nil && want == name {
		if path, e := exec.LookPath(filepath.Join(filepath.Dir(self), name)); e == nil {
			return path, nil
		}
	}
	return "", &platform.Unsupported{
		Feature: name, Option: "the program " + want,
		Remedy: get + ", or --tool-path " + name + "=FILE", Err: errors.Unwrap(err),
	}
}

// InPath gives the path of a program that daemons run as it is in PATH. get is the command
// that gets it.
func InPath(name, get string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &platform.Unsupported{Feature: name, Option: "the program " + name, Remedy: get, Err: errors.Unwrap(err)}
	}
	return path, nil
}
