package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nettoll/analysis"
	"nettoll/plan"
	"nettoll/record"
	"nettoll/reference"
	"nettoll/report"
)

func (a *app) reportCommand() *cobra.Command {
	var format, output, charts, beside, within string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a report of a run file",
		Example: `  nettoll report run.ndjson
  nettoll report run.ndjson -o run.html
  nettoll report run.ndjson --format bench | benchstat -
  nettoll report run.ndjson --charts figures       every chart as SVG and PNG
  nettoll report run.ndjson --beside icc-2014      next to published results`,
		Args: oneArg("report takes one run file, not %d"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault // files
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, ok := report.ByName(format); !ok {
				return usagef("--format %s: unknown; known are %s%s", format, formatNames(), nearest(format, formatList()))
			}
			if charts != "" {
				for _, flag := range []string{"output", "format"} {
					if cmd.Flags().Changed(flag) {
						return usagef("--charts writes charts instead of a report; leave out --%s, or --charts", flag)
					}
				}
			}
			if !cmd.Flags().Changed("format") {
				var err error
				if format, err = formatOf(output); err != nil {
					return err
				}
			}
			if _, ok := reference.ByName(beside); beside != "" && !ok {
				return usagef("--beside %s: unknown; known are %s%s", beside, strings.Join(reference.Names(), ", "), nearest(beside, reference.Names()))
			}
			if beside != "" && charts != "" {
				return usagef("--beside: charts have no published figures; leave out --charts, or --beside")
			}
			if f, _ := report.ByName(format); beside != "" && !f.Published {
				return usagef("--beside: only reports as %s have published figures; choose one of these with --format, or leave it out", strings.Join(withPublished(), ", "))
			}
			if format == "bench" && cmd.Flags().Changed("equal-within") {
				return usagef("--equal-within: reports as bench compare nothing; leave it out, or choose another --format")
			}
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(collectAt)
			}
			return unless(cmd.Context(), func() error {
				file, err := readRun(args[0], readFigures)
				if err != nil {
					return err
				}
				if len(file.Trials) == 0 {
					return fmt.Errorf("%s: nothing was measured; resume it with nettoll run --resume %s", args[0], args[0])
				}
				file.Run.Source = cmp.Or(beside, file.Run.Source)
				if cmd.Flags().Changed("equal-within") {
					if err := equalWithin(file, within); err != nil {
						return err
					}
				}
				res := analysis.AnalyzeCompleted(file)
				if charts != "" {
					return a.writeCharts(charts, res)
				}
				if output == "" || output == "-" {
					return a.write(a.stdout, args[0], file, res, format)
				}
				if same(output, args[0]) {
					return usagef("-o %s: that is the run file; name another", output)
				}
				return a.writeFile(output, args[0], file, res, format)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "format of the report: "+formatNames()+"; by default chosen by the name of the output file")
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	cmd.Flags().StringVar(&charts, "charts", "", "folder to write every chart to, as SVG and PNG, instead of a report")
	cmd.Flags().StringVar(&beside, "beside", "", "published source to compare the run with: "+strings.Join(reference.Names(), ", ")+" (default: the suite's own)")
	cmd.Flags().StringVar(&within, "equal-within", "", "difference that counts as none, such as 5% (default: the run's own)")
	completeValues(cmd, map[string]func() []string{"format": formatList, "beside": reference.Names})
	return cmd
}

// collectAt is the growth of a report's memory, in percent of the memory in use, after which garbage is collected.
// Nearly all memory for decoding a line is garbage once that is done: with half of Go's default of 100, a report of
// thousands of trials needs three quarters of the memory, and a fifth more time.
const collectAt = 50

// equalWithin sets another margin for a run file than its own.
func equalWithin(file *record.File, text string) error {
	margin, err := plan.ParseRatio(text)
	if err == nil {
		err = plan.CheckEqualWithin(margin)
	}
	if err != nil {
		return usagef("--equal-within: %w", err)
	}
	file.Run.Settings.EqualWithin = float64(margin)
	for i := range file.Resumes {
		if s := file.Resumes[i].Settings; s != nil {
			s.EqualWithin = float64(margin)
		}
	}
	return nil
}

// formatOf returns the format for the name of a report's file.
func formatOf(path string) (string, error) {
	end := filepath.Ext(path)
	if end == "" || end == filepath.Base(path) || strings.HasPrefix(filepath.Clean(path), "/dev/") {
		return report.Formats()[0].Name, nil
	}
	if f, ok := report.ByEnd(end); ok {
		return f.Name, nil
	}
	fix := "name one with --format"
	if end == ".svg" || end == ".png" {
		fix = "--charts FOLDER writes charts"
	}
	return "", usagef("-o %s: %s is not a format of reports; %s", path, end, fix)
}

func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// readFigures reads a run file with complete trials, for a report of it.
func readFigures(path string) (*record.File, error) {
	file, err := record.ReadFigures(path, analysis.CompleteTrial)
	if info, statErr := os.Stat(path); err == nil && statErr == nil && info.Mode().IsRegular() { // what was a pipe cannot be resumed
		file.Name = path
	}
	return file, err
}

// readRun reads a run file that the user named.
func readRun(path string, read func(string) (*record.File, error)) (*record.File, error) {
	file, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s: no such run file", path)
	case errors.Is(err, syscall.EISDIR):
		return nil, usagef("%s: a folder is not a run file", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, usagef("%s: permission denied", path)
	case errors.Is(err, record.ErrNotRunFile) && strings.HasSuffix(path, ".gz"):
		return nil, usagef("%s: it is compressed: gunzip -k %[1]s", path)
	case errors.Is(err, record.ErrNotRunFile):
		return nil, usageError{fmt.Errorf("%w; run files end with .ndjson", err)}
	case err != nil && !errors.As(err, new(*fs.PathError)): // it was read, and cannot be used
		return nil, usageError{err}
	}
	return file, err
}

// write writes a report of the run file at path, whose trials are complete.
func (a *app) write(w io.Writer, path string, file *record.File, res analysis.Result, format string) error {
	f, _ := report.ByName(format)
	o := report.Options{File: filepath.Base(path), Trials: file.Trials}
	if a.terminal && w == a.stdout {
		o.Width, o.Color = a.width(), !a.noColor
	}
	return f.Write(w, res, o)
}

// writeFile writes a report of the run file at run to a file.
func (a *app) writeFile(path, run string, file *record.File, res analysis.Result, format string) error {
	var text bytes.Buffer
	if err := a.write(&text, run, file, res, format); err != nil {
		return err
	}
	return a.place(path, text.Bytes())
}

func formatList() []string {
	return record.Each(report.Formats(), func(f report.Format) string { return f.Name })
}

// withPublished returns the formats that have the figures of published sources.
func withPublished() []string {
	all := record.Those(report.Formats(), func(f report.Format) bool { return f.Published })
	return record.Each(all, func(f report.Format) string { return f.Name })
}

func formatNames() string { return strings.Join(formatList(), ", ") }

// writeCharts writes every chart of a report to a folder.
func (a *app) writeCharts(dir string, res analysis.Result) error {
	charts := report.Charts(res)
	if len(charts) == 0 {
		return errors.New("report: there is nothing to draw a chart of")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, c := range charts {
		for end, write := range map[string]func(io.Writer) error{".svg": c.SVG, ".png": c.PNG} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				return fmt.Errorf("report: chart %s: %w", c.Name, err)
			}
			if err := a.place(filepath.Join(dir, c.Name+end), b.Bytes()); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(a.stderr, "%s in %s, each as SVG and PNG\n", counted(len(charts), "chart"), dir)
	return nil
}
