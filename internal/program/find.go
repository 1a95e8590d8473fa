package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"

	"nettoll/internal/beside"
	"nettoll/platform"
)

// Paths are the paths of programs, by name, for those that are not to be looked up in PATH.
type Paths map[string]string

// Find returns the path of a tool's program.
func (p Paths) Find(f Program) (string, error) {
	path, err := p.Locate(f.Name, f.get())
	if err != nil && p[f.Name] == "" && f.Else != "" {
		if path, missing := exec.LookPath(f.Else); missing == nil {
			return path, nil
		}
	}
	return path, err
}

// get returns the command that installs a program.
func (f Program) get() string { return platform.Install(f.Package) }

// Locate returns the path of a program: the one given by --tool-path, or the one in PATH, or the
// one next to nettoll itself, where "make tools" puts it. get is the command that installs it. The
// error is a *platform.Unsupported with that command as the remedy.
func (p Paths) Locate(name, get string) (string, error) {
	want := name
	if given := p[name]; given != "" {
		want = given
	}
	path, err := exec.LookPath(want)
	if err == nil {
		return filepath.Abs(path)
	}
	why := errors.Unwrap(err)
	if want == name {
		path, err := beside.Find(name)
		if err == nil {
			path, err = exec.LookPath(path)
		}
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			why = err
		}
	}
	return "", &platform.Unsupported{
		Feature: name, Program: want,
		Remedy: remedy(name, get), Err: why,
	}
}

func remedy(name, get string) string {
	return fmt.Sprintf("%s, or give its path with --tool-path %s=FILE", get, name)
}
