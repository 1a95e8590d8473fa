package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Object is something on an engine that carries the label of a run.
type Object struct {
	Kind string // one of kinds
	Name string
	Run  string // id of the run

	id      string
	process string // value of processLabel
	force   bool   // an image is removed even if a container uses it
}

// kinds are the kinds of objects, in an order in which they can be removed, with functions that list them.
var kinds = []struct {
	name string
	list func(ctx context.Context, c *client.Client, manager bool) ([]Object, error)
}{
	{"service", services}, {"container", containers}, {"network", networks}, {"image", images}, {"volume", volumes},
}

// String returns kind and name.
func (o Object) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Trace is everything that one run has on an engine.
type Trace struct {
	Run     string // id of the run
	State   State
	Objects []Object // in an order in which they can be removed
}

// Cleaned is what Clean has done, or would do if it were not dry.
type Cleaned struct {
	Removed []Object
	Kept    []Trace
}

// Clean removes from an engine what runs have left there: services (if the engine is a manager of a
// swarm), containers in every state, networks, images and volumes that carry Label, and nothing else.
// For each run it calls keep first. If an object cannot be removed, Clean continues with the others; the
// error joins one line for each such object. With dry it removes nothing.
//
// A run that is going on must be kept. It is recognised by the process that made its objects: their label
// names it, and it is looked for where this process runs. That works for engines of other machines, too,
// as long as the run's nettoll is on this one. If it is on another machine, State is Unknown: only its user
// knows whether the run is going on. Its containers do not show that, because every run has moments
// without any, such as between two networks.
func Clean(ctx context.Context, c *client.Client, dry bool, keep func(Trace) bool) (Cleaned, error) {
	var done Cleaned
	objects, err := find(ctx, c)
	if err != nil {
		return done, err
	}
	goes := map[string]bool{}
	for _, t := range traces(objects) {
		if goes[t.Run] = !keep(t); !goes[t.Run] {
			done.Kept = append(done.Kept, t)
		}
	}
	var errs []error
	for _, o := range objects { // by kinds: containers of one run can be on a network of another
		if !goes[o.Run] {
			continue
		}
		if !dry {
			if err := o.remove(ctx, c); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		done.Removed = append(done.Removed, o)
	}
	return done, errors.Join(errs...)
}

// traces gathers objects by their runs, in the order of the runs' ids.
func traces(objects []Object) (all []Trace) {
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
		// A resumed run has had several processes.
		if s := makers[o.process]; s == Going || s == Unknown && t.State == Ended {
			t.State = s
		}
	}
	for _, run := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[run])
	}
	return all
}

// find lists all objects with Label, in the order of kinds and, within each kind, of runs.
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
		slices.SortStableFunc(some, func(a, b Object) int { return cmp.Compare(a.Run, b.Run) })
		for _, o := range some {
			o.Kind = kind.name
			all = append(all, o)
		}
	}
	return all, nil
}

// labelled returns a filter for objects that have the label.
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

// containers leaves out those that are listed but do not exist: if two remove a container at once, such as nettoll and a
// dockerd that starts again, dockerd 20.10 lists it as dead until its own next start.
func containers(ctx context.Context, c *client.Client, _ bool) (all []Object, err error) {
	res, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled()})
	for _, one := range res.Items {
		if one.State == container.StateDead {
			if _, err := c.ContainerInspect(ctx, one.ID, client.ContainerInspectOptions{}); gone(err) {
				continue
			}
		}
		name := one.ID[:min(12, len(one.ID))]
		if len(one.Names) > 0 {
			name = strings.TrimPrefix(one.Names[0], "/")
		}
		all = append(all, object(name, one.ID, one.Labels))
	}
	return all, err
}

// networks leaves networks of a swarm to its managers: other nodes list them as long as containers use
// them, and must not remove them.
func networks(ctx context.Context, c *client.Client, manager bool) (all []Object, err error) {
	res, err := c.NetworkList(ctx, client.NetworkListOptions{Filters: labelled()})
	for _, n := range res.Items {
		if manager || n.Scope != "swarm" {
			all = append(all, object(n.Name, n.ID, n.Labels))
		}
	}
	return all, err
}

// images lists the names that nettoll gives, and images without a name. Other names, and images that
// were made from one of nettoll's, belong to somebody who uses them.
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
