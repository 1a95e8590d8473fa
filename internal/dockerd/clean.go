package dockerd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// Object is something on an engine that carries the label of a run.
type Object struct {
	Kind string // "service", "container", "network", "image" or "volume"
	Name string
	Run  string // id of the run

	id      string
	process string // value of processLabel
}

// String is kind and name.
func (o Object) String() string { return o.Kind + " " + o.Name }

// Trace is all that one run has on an engine.
type Trace struct {
	Run     string // id of the run
	State   State
	Objects []Object // in the order in which they can be removed
}

// Cleaned is what Clean has done.
type Cleaned struct {
	Removed []Object
	Kept    []Trace
}

// Clean removes from an engine what runs have left there: services (where the engine is
// a manager of a swarm), containers in every state, networks, images and volumes that
// carry Label, and nothing else. It asks keep of each run first. What could not be
// removed is in the error, which joins one line for each object; the rest is done.
//
// A run that goes on must be kept. That it does is told by the process that made its
// objects, which their label names: it is looked for where this process runs. That holds
// for engines of other machines too, since it is nettoll that must be on this one. Of
// runs whose nettoll is somewhere else, State is Unknown: their containers may run or
// not, as they do between two networks, and only their user knows. Containers say
// nothing of it themselves, because there are moments in every run when it has none.
func Clean(ctx context.Context, c *client.Client, keep func(Trace) bool) (Cleaned, error) {
	var done Cleaned
	all, err := Traces(ctx, c)
	if err != nil {
		return done, err
	}
	var objects []Object
	for _, t := range all {
		if keep(t) {
			done.Kept = append(done.Kept, t)
		} else {
			objects = append(objects, t.Objects...)
		}
	}
	slices.SortStableFunc(objects, inOrder) // containers of one run can be on a network of another
	var errs []error
	for _, o := range objects {
		if err := o.remove(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("docker: remove %s: %w", o, err))
			continue
		}
		done.Removed = append(done.Removed, o)
	}
	return done, errors.Join(errs...)
}

// kinds are those of objects, in an order in which they can be removed.
var kinds = []string{"service", "container", "network", "image", "volume"}

func inOrder(a, b Object) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) }

// Traces finds what runs have on an engine, in the order of the runs' ids.
func Traces(ctx context.Context, c *client.Client) ([]Trace, error) {
	objects, err := find(ctx, c)
	if err != nil {
		return nil, err
	}
	by := map[string]*Trace{}
	makers := map[string]State{}
	for _, o := range objects {
		if by[o.Run] == nil {
			by[o.Run] = &Trace{Run: o.Run, State: Ended}
		}
		if _, asked := makers[o.process]; !asked {
			makers[o.process] = state(o.process)
		}
		t := by[o.Run]
		t.Objects = append(t.Objects, o)
		// A run that was resumed has had several processes.
		if s := makers[o.process]; s == Going || s == Unknown && t.State == Ended {
			t.State = s
		}
	}
	var all []Trace
	for _, run := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[run])
	}
	return all, nil
}

// remove takes an object away.
func (o Object) remove(ctx context.Context, c *client.Client) error {
	switch o.Kind {
	case "service":
		return removeService(ctx, c, o.id)
	case "container":
		return removeContainer(ctx, c, o.id)
	case "network":
		return removeNetwork(ctx, c, o.id)
	case "image":
		return removeImage(ctx, c, o.id, false)
	}
	return removeVolume(ctx, c, o.id)
}

// bare is a container's name as commands take it.
func bare(names []string, id string) string {
	if len(names) == 0 {
		return id[:min(12, len(id))]
	}
	return strings.TrimPrefix(names[0], "/")
}
