package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// Object is something on an engine that carries the label of a run.
type Object struct {
	Kind string // one of kinds
	Name string
	Run  string // id of the run

	id      string
	process string // value of processLabel
	force   bool   // an image goes although a container has it
}

// kinds are those of objects, in an order in which they can be removed, and how they are listed.
var kinds = []struct {
	name string
	list func(ctx context.Context, c *client.Client, manager bool) ([]Object, error)
}{
	{"service", services}, {"container", containers}, {"network", networks}, {"image", images}, {"volume", volumes},
}

// String is kind and name.
func (o Object) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Trace is all that one run has on an engine.
type Trace struct {
	Run     string // id of the run
	State   State
	Objects []Object // in the order in which they can be removed
}

// Cleaned is what Clean has done, or would do.
type Cleaned struct {
	Removed []Object
	Kept    []Trace
}

// Clean removes from an engine what runs have left there: services (where the engine is
// a manager of a swarm), containers in every state, networks, images and volumes that
// carry Label, and nothing else. It asks keep of each run first. What could not be
// removed is in the error, which joins one line for each object; the rest is done. With
// dry it removes nothing.
//
// A run that goes on must be kept. That it does is told by the process that made its
// objects, which their label names: it is looked for where this process runs. That holds
// for engines of other machines too, since it is nettoll that must be on this one. Of
// runs whose nettoll is somewhere else, State is Unknown: their containers may run or
// not, as they do between two networks, and only their user knows. Containers say
// nothing of it themselves, because there are moments in every run when it has none.
func Clean(ctx context.Context, c *client.Client, dry bool, keep func(Trace) bool) (Cleaned, error) {
	var done Cleaned
	all, err := Traces(ctx, c)
	if err != nil {
		return done, err
	}
	goes := map[string]bool{}
	for _, t := range all {
		if goes[t.Run] = !keep(t); !goes[t.Run] {
			done.Kept = append(done.Kept, t)
		} else if dry {
			done.Removed = append(done.Removed, t.Objects...)
		}
	}
	if dry {
		return done, nil
	}
	var errs []error
	for _, kind := range kinds { // containers of one run can be on a network of another
		for _, t := range all {
			for _, o := range t.Objects {
				if o.Kind != kind.name || !goes[t.Run] {
					continue
				}
				if err := o.remove(ctx, c); err != nil {
					errs = append(errs, err)
				} else {
					done.Removed = append(done.Removed, o)
				}
			}
		}
	}
	return done, errors.Join(errs...)
}

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

// find lists all objects with Label, in the order of kinds.
func find(ctx context.Context, c *client.Client) (all []Object, err error) {
	ctx, cancel := context.WithTimeout(ctx, absenceTime)
	defer cancel()
	info, err := c.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, failed(err, "ask the engine")
	}
	for _, kind := range kinds {
		some, err := kind.list(ctx, c, info.Info.Swarm.ControlAvailable)
		if err != nil {
			return nil, failed(err, "list %ss", kind.name)
		}
		for _, o := range some {
			o.Kind = kind.name
			all = append(all, o)
		}
	}
	return all, nil
}

// labelled finds objects that have the label.
func labelled() client.Filters { return make(client.Filters).Add("label", Label) }

func object(name, id string, labels map[string]string) Object {
	return Object{Name: name, Run: labels[Label], id: id, process: labels[processLabel]}
}

func services(ctx context.Context, c *client.Client, manager bool) (all []Object, err error) {
	if !manager {
		return nil, nil
	}
	res, err := c.ServiceList(ctx, client.ServiceListOptions{Filters: labelled()})
	for _, s := range res.Items {
		all = append(all, object(s.Spec.Name, s.ID, s.Spec.Labels))
	}
	return all, err
}

func containers(ctx context.Context, c *client.Client, _ bool) (all []Object, err error) {
	res, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled()})
	for _, one := range res.Items {
		name := one.ID[:min(12, len(one.ID))]
		if len(one.Names) > 0 {
			name = strings.TrimPrefix(one.Names[0], "/")
		}
		all = append(all, object(name, one.ID, one.Labels))
	}
	return all, err
}

// networks leaves those of a swarm to its managers: other nodes know them as long as
// containers are on them, and may not remove them.
func networks(ctx context.Context, c *client.Client, manager bool) (all []Object, err error) {
	res, err := c.NetworkList(ctx, client.NetworkListOptions{Filters: labelled()})
	for _, n := range res.Items {
		if manager || n.Scope != "swarm" {
			all = append(all, object(n.Name, n.ID, n.Labels))
		}
	}
	return all, err
}

// images finds names that nettoll gives, and images with none. Other names, and images
// that were made from one of nettoll's, are of somebody who uses it.
func images(ctx context.Context, c *client.Client, _ bool) (all []Object, err error) {
	res, err := c.ImageList(ctx, client.ImageListOptions{Filters: labelled()})
	for _, i := range res.Items {
		ours := imageName + ":" + i.Labels[Label]
		named := slices.DeleteFunc(i.RepoTags, func(tag string) bool { return tag == "<none>:<none>" })
		switch {
		case slices.Contains(named, ours):
			all = append(all, object(ours, ours, i.Labels))
		case len(named) == 0 && i.ParentID == "":
			all = append(all, object(i.ID, i.ID, i.Labels))
		}
	}
	return all, err
}

func volumes(ctx context.Context, c *client.Client, _ bool) (all []Object, err error) {
	res, err := c.VolumeList(ctx, client.VolumeListOptions{Filters: labelled()})
	for _, v := range res.Items {
		all = append(all, object(v.Name, v.Name, v.Labels))
	}
	return all, err
}
