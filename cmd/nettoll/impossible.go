package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"nettoll/internal/keeper"
	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// impossible lists the parts of a plan that cannot be done on this machine.
type impossible struct {
	networks, tools map[string]error // why, by name
	reasons         []reason         // in the order of the cells
}

// reason is why some networks, or a tool, cannot be used, and what would fix that.
type reason struct {
	names []string
	text  string
}

func (r reason) String() string { return strings.Join(r.names, ", ") + ": " + r.text }

// findImpossible probes every network and tool of the cells. Only what is known to be missing is noted, since
// another error may not happen again. Networks that left accepts, those on the user's engines and machines, are
// left to the run itself: probing makes containers on engines, and logs in to machines.
func (a *app) findImpossible(ctx context.Context, cells []record.Cell, e engines, left func(network string) bool) (impossible, error) {
	h := impossible{map[string]error{}, map[string]error{}, nil}
	recipes, tools, platforms := recipes(e), toolByName(a.paths), map[string]error{}
	for _, c := range cells {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		if _, asked := h.networks[c.Network]; !asked && !left(c.Network) {
			r := recipes[c.Network]
			name := r.Platform.Info().Name
			err, asked := platforms[name]
			if !asked {
				err = r.Platform.Probe(ctx)
				platforms[name] = err
			}
			if err == nil {
				err = r.Driver.Probe(ctx, r.Platform)
			}
			h.networks[c.Network] = h.note(c.Network, err)
		}
		if _, asked := h.tools[c.Tool]; !asked {
			var err error
			if tool := tools[c.Tool]; tool.Probe != nil {
				err = tool.Probe(ctx)
			}
			h.tools[c.Tool] = h.note(c.Tool, err)
		}
	}
	return h, ctx.Err()
}

// note records a reason, once for all names that it applies to.
func (h *impossible) note(name string, err error) error {
	if !errors.Is(err, platform.ErrUnsupported) {
		return nil
	}
	h.reasons = noted(h.reasons, name, told(withRemedy(err).Error()))
	return err
}

// noted adds a name to the reason with the given text, or adds the reason.
func noted(all []reason, name, text string) []reason {
	i := slices.IndexFunc(all, func(r reason) bool { return r.text == text })
	if i < 0 {
		i, all = len(all), append(all, reason{text: text})
	}
	all[i].names = append(all[i].names, name)
	return all
}

func (h impossible) can(c record.Cell) bool {
	return h.networks[c.Network] == nil && h.tools[c.Tool] == nil
}

// checkCongestion refuses, before anything is built, an algorithm that this machine does not have.
func checkCongestion(cells []record.Cell) error {
	for _, name := range record.Distinct(cells, func(c record.Cell) string { return c.Options.Congestion }) {
		if name == "" || name == record.MachinesOwn {
			continue
		}
		if err := sampler.TryCongestion(name); errors.Is(err, fs.ErrNotExist) {
			there, err := sampler.ReadCongestion("/proc")
			if err != nil {
				return usagef("congestion control %q is not available here", name)
			}
			return usagef("congestion control %q is not available here; available are %s%s", name, strings.Join(there.There, ", "), nearest(name, there.There))
		}
	}
	return nil
}

// possible returns the cells that can be measured here.
func (h impossible) possible(cells []record.Cell) []record.Cell {
	return record.Those(cells, h.can)
}

// nothing returns an error if none of the cells that the plan is about can be measured: cells of networks that are
// compared with others, or, if there are none, any cell; or if nothing can be that any of them is compared with.
func (h impossible) nothing(cells []record.Cell) error {
	asked := slices.DeleteFunc(slices.Clone(cells), record.Cell.IsNative)
	if len(asked) == 0 {
		asked = cells
	}
	asked = h.possible(asked)
	if slices.ContainsFunc(asked, func(c record.Cell) bool { return h.can(c.Against()) }) {
		return nil
	}
	errs := record.Each(h.reasons, func(r reason) error { return errors.New(r.String()) })
	if len(asked) > 0 {
		return fmt.Errorf("the baseline cannot run here; name another (--baseline): %w", errors.Join(errs...))
	}
	return fmt.Errorf("none of this can run here: %w", errors.Join(errs...))
}

// kernelFacts tells what the kernel can do for programs of this machine. The functions return nil if it can.
type kernelFacts struct {
	keep func() error // ends a program together with all processes that it has started
	hold func() error // restricts the sockets of a program that has no option for where to listen
}

// thisKernel describes the kernel of this machine.
var thisKernel = kernelFacts{keep: sync.OnceValue(keeper.CanKeep), hold: sync.OnceValue(keeper.CanHold)}

// safe refuses, before anything is built, servers on the user's machine that could outlive nettoll there, or that
// others could reach.
func (k kernelFacts) safe(cells []record.Cell, paths program.Paths) error {
	all, tools := recipes(engines{}), toolByName(paths)
	for _, c := range cells {
		around := platform.Surroundings{Outlive: true} // of the lab's networks in a run with an engine
		if !isOn[*lab.Lab](c.Network) {
			around = all[c.Network].Driver.Around
		}
		tool := tools[c.Tool]
		if tool.Probe != nil && around.Outlive {
			if err := k.keep(); err != nil {
				return refusal(c, err)
			}
		}
		if tool.Roams != "" && around.Open {
			if err := k.hold(); err != nil {
				return refusal(c, unheld(tool.Roams, err))
			}
		}
	}
	return nil
}

// unheld is the error for a server that would listen on all addresses.
func unheld(server string, err error) error {
	return &platform.Unsupported{
		Feature: server + " on a network that others reach", Option: "a kernel that restricts it to an address, since it has no option for where to listen",
		Remedy: "Linux 5.5 or later with seccomp, another tool, or --private-engine", Err: err,
	}
}

func refusal(c record.Cell, err error) error {
	remedy := ""
	if missing, ok := errors.AsType[*platform.Unsupported](err); ok {
		remedy = "; " + missing.Remedy
	}
	return usagef("%s with %s: %w%s", c.Network, c.Tool, err, remedy)
}

// held describes how a tool is kept from listening where others could reach it.
func (k kernelFacts) held(t workload.Tool) string {
	if t.Roams == "" {
		return ""
	}
	if err := k.hold(); err != nil {
		return "; not on the network of a Docker engine's machine: " + unheld(t.Roams, err).Error()
	}
	return "; " + t.Roams + " has no option for where to listen, and is restricted to its clients' address (seccomp)"
}
