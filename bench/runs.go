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
	"strconv"
	"strings"

	"nettoll/record"
)

// compiled is nettoll, built from the source at hand, in a folder.
func compiled(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "nettoll")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/nettoll")
	build.Stderr = os.Stderr
	return program, build.Run()
}

// nettoll is a run whose output is not of interest, unless it fails.
func (w *work) nettoll(ctx context.Context, args ...string) *exec.Cmd {
	return interruptible(ctx, w.program, args...)
}

// interruptible is a program that ends in an orderly way with ctx.
func interruptible(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// fixedRounds are arguments of a run that has so many rounds, whatever it finds.
func fixedRounds(n int) []string {
	rounds := strconv.Itoa(n)
	return []string{"--min-rounds", rounds, "--max-rounds", rounds, "--time-budget", "0"}
}

// run has nettoll make a run file of that name. What could not be measured is missing in it, and
// is for the one who asked to notice.
func (w *work) run(ctx context.Context, name string, args ...string) (*record.File, error) {
	if f, err := w.kept(name); f != nil || err != nil {
		return f, err
	}
	w.step(name)
	file := filepath.Join(w.dir, name+".ndjson")
	cmd := w.nettoll(ctx, append(append([]string{"run"}, args...), "-o", file)...)
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
	return w.read(name)
}

// placeOf is where a run file stays.
func (w *work) placeOf(name string) string {
	return filepath.Join(w.keep, w.name, name+".ndjson.gz")
}

// kept is a run file that is there already, nil where there is none.
func (w *work) kept(name string) (*record.File, error) {
	if w.keep == "" {
		return nil, nil
	}
	f, err := os.Open(w.placeOf(name))
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
	w.total--
	return record.Read(z)
}

// read reads a run file, and keeps it if it is to stay.
func (w *work) read(name string) (*record.File, error) {
	file := filepath.Join(w.dir, name+".ndjson")
	f, err := record.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(f.Ends) != 1 {
		return nil, fmt.Errorf("%s has no end", file)
	}
	if w.keep == "" {
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
	if err := errors.Join(z.Close(), os.MkdirAll(filepath.Join(w.keep, w.name), 0o755)); err != nil {
		return nil, err
	}
	return f, os.WriteFile(w.placeOf(name), small.Bytes(), 0o644)
}
