package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"nettoll/internal/beside"
	"nettoll/platform"
	"nettoll/workload"
)

// Paths says where programs are, by name, for those that are not to be looked up in
// PATH.
type Paths map[string]string

// Find gives the path of a program of a Debian package. See Locate.
func (p Paths) Find(name, debianPackage string) (string, error) {
	return p.Locate(name, "apt install "+debianPackage)
}

// Locate gives the path of a program: the one that --tool-path names, or that in PATH, or
// that beside nettoll itself, where "make tools" puts it. get is the command that gets it.
// The error is a *platform.Unsupported that names it as the remedy.
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
		Feature: name, Option: "the program " + want,
		Remedy: fmt.Sprintf("%s, or --tool-path %s=FILE", get, name), Err: why,
	}
}

// Pack finds programs for an image that need nothing but their libraries. debianPackage has
// all of them.
func (p Paths) Pack(debianPackage string, names ...string) (pack workload.Pack, err error) {
	for _, name := range names {
		path, err := p.Find(name, debianPackage)
		if err != nil {
			return pack, err
		}
		if path, err = filepath.Abs(path); err != nil {
			return pack, err
		}
		pack.Programs = append(pack.Programs, path)
	}
	return pack, nil
}

// versionTime bounds how long a program may take to say its version.
const versionTime = 5 * time.Second

// Say runs a program here and gives what it prints on both outputs, as for its
// version. Its exit status does not matter: some answer --version with 1.
func Say(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) || ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", path, errors.Join(err, ctx.Err()))
	}
	return string(bytes.TrimSpace(out)), nil
}

// Version has a program say its version when it is given a flag. The version is the first
// group of the pattern.
func Version(ctx context.Context, path, flag string, says *regexp.Regexp) (string, error) {
	said, err := Say(ctx, path, flag)
	if err != nil {
		return "", err
	}
	m := says.FindStringSubmatch(said)
	if m == nil {
		return "", fmt.Errorf("%s %s says %.80q, which is no version", path, flag, said)
	}
	return m[1], nil
}
