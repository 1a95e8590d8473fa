package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nettoll/analysis"
	"nettoll/record"
	"nettoll/report"
)

func (a *app) reportCommand() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a report of a run file",
		Example: `  nettoll report run.ndjson
  nettoll report run.ndjson --format html -o run.html
  nettoll report run.ndjson --format bench | benchstat -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("report takes one run file, not %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if _, ok := report.ByName(format); !ok {
				return usagef("--format %s: unknown%s; known are %s", format, nearest(format, formatList()), formatNames())
			}
			file, err := readRun(args[0])
			if err != nil {
				return err
			}
			res := analysis.Analyze(file)
			if output == "" || output == "-" {
				return a.write(a.stdout, file, res, format)
			}
			if same(output, args[0]) {
				return usagef("-o %s: that is the run file; name another", output)
			}
			return a.writeFile(output, file, res, format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", formatNames())
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	return cmd
}

func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// readRun reads a run file that the user named.
func readRun(path string) (*record.File, error) {
	file, err := record.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s: no such run file", path)
	case errors.Is(err, syscall.EISDIR):
		return nil, usagef("%s: a folder is not a run file", path)
	}
	return file, err
}

func (a *app) write(w io.Writer, file *record.File, res analysis.Result, format string) error {
	f, _ := report.ByName(format)
	o := report.Options{Trials: file.Trials}
	if a.terminal && w == a.stdout {
		o.Width, o.Color = a.width(), !a.noColor
	}
	if n := len(file.Ends); n > 0 {
		o.Ended = &file.Ends[n-1]
	}
	return f.Write(w, res, o)
}

// writeFile writes a report beside its name and then puts it there, so that a
// full disk leaves the old one.
func (a *app) writeFile(path string, file *record.File, res analysis.Result, format string) error {
	var text bytes.Buffer
	if err := a.write(&text, file, res, format); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dirOf(path), ".nettoll-*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = tmp.Write(text.Bytes())
	err = cmp.Or(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("report %s: %w", path, err)
	}
	return nil
}

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return "."
}

func formatList() []string {
	var names []string
	for _, f := range report.Formats() {
		names = append(names, f.Name)
	}
	return names
}

func formatNames() string { return strings.Join(formatList(), ", ") }
