package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nettoll/network"
	"nettoll/plan"
	"nettoll/record"
)

// flagFault describes what is wrong with a flag, without the library's wording.
func (a *app) flagFault(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var without *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	var syntax *pflag.InvalidSyntaxError
	help := "; see " + cmd.CommandPath() + " --help"
	switch {
	case errors.As(err, &value):
		f, text := value.GetFlag(), value.GetValue()
		if second, ok := errors.AsType[*twice](err); ok {
			return usagef("--%s: %s and %s contradict each other; leave one out", f.Name, second.first, text)
		}
		return usagef("--%s: %q %s%s", f.Name, text, valueFault(f, text, value.Unwrap()), help)
	case errors.As(err, &without):
		return usagef("--%s: no value is given%s", without.GetFlag().Name, help)
	case errors.As(err, &unknown):
		if cmd.Name() == "lab" && a.commandOf(cmd) != "" {
			return usagef("%s: unknown flag of lab; write the command to run in the lab after --: %s", unknownFlag(unknown), a.commandOf(cmd))
		}
		return usagef("unknown flag: %s%s%s", unknownFlag(unknown), help, nearestFlag(unknown, cmd))
	case errors.As(err, &syntax):
		return usagef("%q is not a flag%s", syntax.GetSpecifiedFlag(), help)
	}
	return usagef("%w%s", err, help)
}

// valueFault describes what is wrong with the value of a flag, and what it accepts.
func valueFault(f *pflag.Flag, text string, err error) string {
	v := f.Value
	if o, ok := v.(*once); ok {
		v = o.Value
	}
	if errors.As(err, new(*csv.ParseError)) {
		return "is not a list; write values with commas between them, and no quotes"
	}
	switch v.Type() {
	case "int", "uint64", "intSlice":
		whole := "write digits, such as 2"
		if v.Type() == "intSlice" {
			whole = "write digits, with commas between several numbers, such as 1,2"
		}
		switch {
		case errors.Is(err, strconv.ErrRange):
			return "is too large"
		case v.Type() == "uint64" && strings.HasPrefix(text, "-"):
			return "must not be negative; " + whole
		}
		return "is not a whole number; " + whole
	case "float64":
		return "is not a number; write digits, such as 0.139"
	case "bool":
		return "is not a truth value; write true or false"
	case "stringToString":
		return "is not NAME=FILE; write for example iperf3=/opt/iperf3"
	}
	return err.Error()
}

// commandOf returns the command line of lab with -- where it belongs, if it has a command.
func (a *app) commandOf(cmd *cobra.Command) string {
	i := slices.Index(a.args, cmd.Name())
	if i < 0 || len(a.args) < i+3 || strings.HasPrefix(a.args[i+1], "-") || strings.HasPrefix(a.args[i+2], "-") {
		return ""
	}
	return fmt.Sprintf("nettoll lab %s -- %s", a.args[i+1], strings.Join(a.args[i+2:], " "))
}

func unknownFlag(err *pflag.NotExistError) string {
	if err.GetSpecifiedShortnames() != "" {
		return "-" + err.GetSpecifiedName()
	}
	return "--" + err.GetSpecifiedName()
}

// nearestFlag suggests the flag that was probably meant, or the network, which is named without dashes.
func nearestFlag(err *pflag.NotExistError, cmd *cobra.Command) string {
	if err.GetSpecifiedShortnames() != "" {
		return ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	flags := len(known)
	known = append(known, networksOf(cmd)...)
	name := err.GetSpecifiedName()
	if n, _ := plan.Nearest(name, known); slices.Contains(known[flags:], n) && !slices.Contains(known[:flags], n) {
		return fmt.Sprintf("; %s is a network: %s %[1]s", n, cmd.CommandPath())
	}
	if n, ok := plan.Nearest(name, known[:flags]); ok {
		return "; did you mean --" + n + "?"
	}
	return ""
}

// networksOf returns the networks that a command takes as arguments.
func networksOf(cmd *cobra.Command) []string {
	switch cmd.Name() {
	case "run":
		named := slices.Concat(networkNames(), wholeNames(), usualNames())
		asked, _ := cmd.Flags().GetString("platform")
		v, ok := record.First(platforms(), func(v platformNetworks) bool { return v.plan.Name == asked })
		if !ok || v.prefix == "" {
			return named
		}
		named = slices.DeleteFunc(named, func(n string) bool { return !strings.Contains(n, ":") }) // short names are those of --platform
		return slices.Concat(record.Each(v.drivers, func(d network.Driver) string { return d.Name }), []string{"all"}, named)
	case "lab":
		return platforms()[0].names()
	}
	return nil
}

// length is a flag for a length of time: a number alone is seconds, as in iperf3.
type length time.Duration

func (l *length) Set(text string) error {
	d, err := plan.ParseDuration(text)
	*l = length(d)
	return err
}

func (l *length) String() string { return time.Duration(*l).String() }
func (*length) Type() string     { return "duration" }

// once is a flag with one value: a second, different value contradicts the first.
type once struct {
	pflag.Value
	given *string
}

// twice is the error of a flag with two different values.
type twice struct{ first string }

func (t *twice) Error() string { return "was " + t.first + " before" }

func (o *once) Set(text string) error {
	if o.given != nil && *o.given != text {
		return &twice{*o.given}
	}
	o.given = &text
	return o.Value.Set(text)
}

// onceEach is a flag with one value for each name, as in iperf3=/opt/iperf3.
type onceEach struct {
	pflag.Value
	given map[string]string
}

func (o onceEach) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		if was, there := o.given[name]; there && was != pair {
			return &twice{was}
		}
		o.given[name] = pair
	}
	return o.Value.Set(text)
}

// onlyOnce has every flag that is not a list take one value.
func onlyOnce(fl *pflag.FlagSet) {
	fl.VisitAll(func(f *pflag.Flag) {
		switch f.Value.(type) {
		case pflag.SliceValue, listOf, *once:
			return
		}
		if f.Value.Type() == "stringToString" {
			f.Value = onceEach{f.Value, map[string]string{}}
		} else {
			f.Value = &once{Value: f.Value}
		}
	})
}

// valued refuses texts and lists that are given and empty, such as --nodes "", except for a remark: otherwise they would
// have no effect. An empty --max-rate, from a variable that is not set, would be no limit.
func valued(fl *pflag.FlagSet) (err error) {
	fl.Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "note"
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = strings.Join(list.GetSlice(), "") == ""
		}
		if empty && err == nil {
			err = usagef("--%s: no value is given", f.Name)
		}
	})
	return err
}

// strict makes cobra's own commands refuse unknown arguments.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return unknownCommand(args[len(args)-1])
				}
				return nil
			}
		case "completion":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if len(args) == 0 {
					return nil
				}
				return usagef("no completion for %q; there are bash, zsh, fish and powershell", args[0])
			}
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Args = noArgs
			}
		}
	}
}

func unknownCommand(name string) error {
	known := []string{"run", "list", "doctor", "report", "lab", "clean", "suite", "version", "completion", "help"}
	hint := nearest(name, known)
	if networks := slices.Concat(networkNames(), wholeNames(), platformNames()); hint == "" && (slices.Contains(networks, name) || len(plan.Variants(name, networks)) > 0) {
		hint = "; did you mean nettoll run " + name + "?"
	}
	return usagef("unknown command %q; see nettoll --help%s", name, hint)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, not %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneArg is for commands that take one argument: says is the error, with the number of arguments, if there is not
// exactly one.
func oneArg(says string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef(says, len(args))
		}
		return nil
	}
}
