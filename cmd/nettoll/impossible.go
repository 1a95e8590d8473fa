package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/sampler"
	"nettoll/workload"
)

// impossible is what of a plan cannot be done on this machine.
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

// findImpossible asks every network and tool of the cells whether it can be used. What is not known to
// be missing is not told: the next who asks may be luckier. An engine of the user's is asked by the run
// itself, since that makes containers on it.
func (a *app) findImpossible(ctx context.Context, cells []record.Cell, e engines, borrows bool) (impossible, error) {
	h := impossible{map[string]error{}, map[string]error{}, nil}
	recipes, tools, platforms := recipes(e), toolByName(a.paths), map[string]error{}
	for _, c := range cells {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		if _, asked := h.networks[c.Network]; !asked && !(borrows && onEngines(c.Network)) {
			r := recipes[c.Network]
			name := r.Platform.Name()
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
			if p, ok := tools[c.Tool].(workload.Prober); ok {
				err = p.Probe(ctx)
			}
			h.tools[c.Tool] = h.note(c.Tool, err)
		}
	}
	return h, ctx.Err()
}

// note keeps a reason, once for all that it holds for.
func (h *impossible) note(name string, err error) error {
	if !errors.Is(err, platform.ErrUnsupported) {
		return nil
	}
	h.reasons = noted(h.reasons, name, oneLine(withRemedy(err)))
	return err
}

// noted are reasons with one more, or with one more name that it holds for.
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

// checkCongestion refuses an algorithm that this machine does not have, before anything is built.
func checkCongestion(cells []record.Cell) error {
	tried := map[string]bool{"": true}
	for _, c := range cells {
		name := c.Options.Congestion
		if tried[name] {
			continue
		}
		tried[name] = true
		if err := sampler.TryCongestion(name); errors.Is(err, fs.ErrNotExist) {
			there, err := sampler.ReadCongestion("/proc")
			if err != nil {
				return usagef("congestion control %q: there is none here", name)
			}
			return usagef("congestion control %q: there is none here%s; there are %s", name, nearest(name, there.There), strings.Join(there.There, ", "))
		}
	}
	return nil
}

// possible are the cells that can be measured here.
func (h impossible) possible(cells []record.Cell) []record.Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c record.Cell) bool { return !h.can(c) })
}

// nothing is an error when nothing is left that the plan is for: networks that are compared with
// others, or, where there are none, any.
func (h impossible) nothing(cells []record.Cell) error {
	asked := slices.DeleteFunc(slices.Clone(cells), record.Cell.IsNative)
	if len(asked) == 0 {
		asked = cells
	}
	if slices.ContainsFunc(asked, h.can) {
		return nil
	}
	var errs []error
	for _, r := range h.reasons {
		errs = append(errs, errors.New(r.String()))
	}
	return fmt.Errorf("nothing of this can run here: %w", errors.Join(errs...))
}
