package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nettoll/record"
)

// run has nettoll make a run file of that name. What could not be measured is missing in it, and
// is for the one who asked to notice.
func (j *judging) run(ctx context.Context, name string, args ...string) (*record.File, error) {
	if f, err := j.kept(name); f != nil || err != nil {
		return f, err
	}
	j.step(name)
	file := filepath.Join(j.dir, name+".ndjson")
	cmd := nettoll(ctx, j.program, append(append([]string{"run"}, args...), "-o", file)...)
	var says bytes.Buffer
	cmd.Stderr = &says
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &ended) && ended.ExitCode() == 1:
		fmt.Fprintf(os.Stderr, "%s: not everything could be measured\n", name)
	case err != nil:
		return nil, fmt.Errorf("nettoll run %s: %w\n%s", strings.Join(args, " "), err, says.String())
	}
	return j.read(name)
}

// placeOf is where a run file stays.
func (j *judging) placeOf(name string) string {
	return filepath.Join(j.keep, j.name, name+".ndjson.gz")
}

// kept is a run file that is there already, nil where there is none.
func (j *judging) kept(name string) (*record.File, error) {
	if j.keep == "" {
		return nil, nil
	}
	f, err := os.Open(j.placeOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	j.total--
	return record.Read(z)
}

// read reads a run file, and keeps it if it is to stay.
func (j *judging) read(name string) (*record.File, error) {
	file := filepath.Join(j.dir, name+".ndjson")
	f, err := record.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(f.Ends) != 1 {
		return nil, fmt.Errorf("%s has no end", file)
	}
	if j.keep == "" {
		return f, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var small bytes.Buffer
	z, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := errors.Join(z.Close(), os.MkdirAll(filepath.Join(j.keep, j.name), 0o755)); err != nil {
		return nil, err
	}
	return f, os.WriteFile(j.placeOf(name), small.Bytes(), 0o644)
}
