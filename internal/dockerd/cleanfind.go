package dockerd

import (
	"context"
	"fmt"
	"slices"

	"github.com/moby/moby/client"
)

// find lists all objects with Label, in the order of kinds.
func find(ctx context.Context, c *client.Client) ([]Object, error) {
	ctx, cancel := context.WithTimeout(ctx, absenceTime)
	defer cancel()
	info, err := c.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, fmt.Errorf("docker: ask the engine: %w", brief(err))
	}
	var all []Object
	for _, list := range []struct {
		kind string
		list func(context.Context, *client.Client, bool) ([]Object, error)
	}{
		{"service", services}, {"container", containers}, {"network", networks}, {"image", images}, {"volume", volumes},
	} {
		some, err := list.list(ctx, c, info.Info.Swarm.ControlAvailable)
		if err != nil {
			return nil, fmt.Errorf("docker: list %ss: %w", list.kind, brief(err))
		}
		all = append(all, some...)
	}
	return all, nil
}

// labelled finds objects that have the label.
func labelled() client.Filters { return make(client.Filters).Add("label", Label) }

func object(kind, name, id string, labels map[string]string) Object {
	return Object{Kind: kind, Name: name, Run: labels[Label], id: id, process: labels[processLabel]}
}

func services(ctx context.Context, c *client.Client, manager bool) (all []Object, err error) {
	if !manager {
		return nil, nil
	}
	res, err := c.ServiceList(ctx, client.ServiceListOptions{Filters: labelled()})
	for _, s := range res.Items {
		all = append(all, object("service", s.Spec.Name, s.ID, s.Spec.Labels))
	}
	return all, err
}

func containers(ctx context.Context, c *client.Client, _ bool) (all []Object, err error) {
	res, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelled()})
	for _, one := range res.Items {
		all = append(all, object("container", bare(one.Names, one.ID), one.ID, one.Labels))
	}
	return all, err
}

// networks leaves those of a swarm to its managers: other nodes know them as long as
// containers are on them, and may not remove them.
func networks(ctx context.Context, c *client.Client, manager bool) (all []Object, err error) {
	res, err := c.NetworkList(ctx, client.NetworkListOptions{Filters: labelled()})
	for _, n := range res.Items {
		if manager || n.Scope != "swarm" {
			all = append(all, object("network", n.Name, n.ID, n.Labels))
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
			all = append(all, object("image", ours, ours, i.Labels))
		case len(named) == 0 && i.ParentID == "":
			all = append(all, object("image", i.ID, i.ID, i.Labels))
		}
	}
	return all, err
}

func volumes(ctx context.Context, c *client.Client, _ bool) (all []Object, err error) {
	res, err := c.VolumeList(ctx, client.VolumeListOptions{Filters: labelled()})
	for _, v := range res.Items {
		all = append(all, object("volume", v.Name, v.Name, v.Labels))
	}
	return all, err
}
