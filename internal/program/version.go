package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/platform"
	"nettoll/record"
)

// version returns the client's version, followed by the server's where it differs:
// "7.0.15+redis-server-7.2".
func (p placed) version(ctx context.Context) (string, error) {
	found, err := p.find()
	if err != nil {
		return "", err
	}
	var versions []string
	for _, asked := range p.tool.Programs {
		if asked.Says == nil {
			continue
		}
		v, err := asked.version(ctx, found[asked.Name])
		if err != nil {
			return "", err
		}
		if len(versions) == 0 {
			versions = append(versions, v)
		} else if v != versions[0] {
			versions = append(versions, asked.Name+"-"+v)
		}
	}
	return strings.Join(versions, "+"), nil
}

// version makes the program print its version, which must not be too old.
func (f Program) version(ctx context.Context, path string) (string, error) {
	said, err := Say(ctx, path, f.Flag)
	if err != nil {
		return "", err
	}
	version, err := f.read(path, said)
	if err != nil && f.Oldest != "" {
		err = &platform.Unsupported{
			Feature: f.Name, Option: f.needs(), Remedy: remedy(f.Name, f.get()) + "; tested with " + f.Tested, Err: err,
		}
	}
	return version, err
}

// needs says which versions are supported.
func (f Program) needs() string {
	if f.Oldest == "" {
		return f.Name
	}
	return fmt.Sprintf("%s %s or later", f.Name, f.Oldest)
}

// read returns the version that the program at a path has printed, which must not be too old.
func (f Program) read(path, said string) (string, error) {
	m := f.Says.FindStringSubmatch(said)
	switch {
	case m != nil && (f.Oldest == "" || !older(m[1], f.Oldest)):
		return m[1], nil
	case m != nil:
		return "", fmt.Errorf("%s is version %s", path, m[1])
	case f.Oldest == "":
		return "", fmt.Errorf("%s %s printed %.80q, which is not a version", path, f.Flag, said)
	}
	return "", fmt.Errorf("%s is not %s: it reports its version as %.60q", path, f.needs(), said)
}

// older compares versions such as "3.12" and "18beta1" by their numbers.
func older(version, than string) bool {
	byNumber := func(a, b string) int { return cmp.Compare(leading(a), leading(b)) }
	return slices.CompareFunc(strings.Split(version, "."), strings.Split(than, "."), byNumber) < 0
}

// leading returns the number that a text begins with, or 0.
func leading(text string) int {
	n, _ := strconv.Atoi(text[:len(text)-len(strings.TrimLeft(text, "0123456789"))])
	return n
}

// versionTime bounds how long a program may take to print its version, also on a busy machine.
const versionTime = 20 * time.Second

// maxSaid is how much a program may print of its version on each stream, in bytes.
const maxSaid = 64 << 10

// Say runs a program here and returns its output on both streams, for reading its version. Its exit
// status does not matter: some programs answer --version with 1. It ends with this process, however that ends. What it has left
// in its process group is ended.
func Say(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, versionTime, fmt.Errorf("it did not end within %v", versionTime))
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	full := func() { end(fmt.Errorf("it printed more than %d bytes", maxSaid)) }
	k := &child{done: make(chan struct{}), out: limited{most: maxSaid, full: full}, err: limited{most: maxSaid, full: full}}
	if err := k.launch(Command{Path: path, Args: args}); err != nil {
		return "", err
	}
	if err := cmp.Or(k.await(ctx), context.Cause(ctx)); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return strings.TrimSpace(k.output.Stdout + k.output.Stderr), nil
}

// checkVersion finds the version of an endpoint's own program, where that is not the same file as the one here: in an image
// that somebody else has made, or on a machine to which the program could not be sent. It must not be too old either. A
// warning names the version if it is not the one that the run records, which is that of the program here.
func (r *running) checkVersion(ctx context.Context, a *agent.Client, e platform.Endpoint, c Command) error {
	p, ok := r.programs[c.Path]
	key := asked{a, c.Path}
	if !ok || p.Says == nil || len(c.Sent) > 0 || r.asked[key] {
		return nil
	}
	r.asked[key] = true
	here, err := identify(c.Path)
	if err != nil {
		return err
	}
	var there string
	if err := a.Call(ctx, methodSum, sumParams{c.Path, here}, &there); err != nil || there == "" {
		return err
	}
	if sum, err := bootstrap.Sum(c.Path); err != nil || sum == there {
		return err
	}
	var said string
	if err := a.Call(ctx, methodSay, sayParams{c.Path, p.Flag}, &said); err != nil {
		return err
	}
	version, err := p.read(c.Path, said)
	if err != nil {
		return &platform.Unsupported{
			Feature: p.Name + " on " + e.OnHost(), Option: p.needs() + " there", Remedy: "install that there", Err: err,
		}
	}
	ours, err := p.version(ctx, c.Path)
	if err == nil {
		r.warnings = record.AddNew(r.warnings, record.Warn(version != ours, "other-version",
			"%s on %s is the one found there: version %s, not %s as here", p.Name, e.OnHost(), version, ours)...)
	}
	return err
}

// asked is a program at an endpoint.
type asked struct {
	at   *agent.Client
	path string
}

type sumParams struct {
	Path string
	Here identity // of the file that the caller has under this path
}

type sayParams struct{ Path, Flag string }

// identity is that of a file on one machine.
type identity struct {
	Device, Inode uint64
	Size, Changed int64 // bytes; ns since 1970
}

func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	return identity{stat.Dev, stat.Ino, stat.Size, stat.Ctim.Nano()}, nil
}

// sum returns the SHA-256 of a program at this end, or "" if that is the caller's own file, or there is none: what starts it
// reports that.
func sum(_ context.Context, p sumParams) (string, error) {
	here, err := identify(p.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && here == p.Here {
		return "", nil
	}
	return bootstrap.Sum(p.Path)
}

func say(ctx context.Context, p sayParams) (string, error) { return Say(ctx, p.Path, p.Flag) }
