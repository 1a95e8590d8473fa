package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/bootstrap"
	"nettoll/platform"
	"nettoll/record"
)

// The nodes of a cluster of the user's that networks are on.

// Values of OwnOptions.Zones.
const (
	SameZone  = "same"
	OtherZone = "cross"
)

// nodeState is what the API says of a node.
type nodeState struct {
	Metadata struct {
		Name                string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Unschedulable bool
		Taints        []struct{ Key, Effect string }
	}
	Status struct {
		Conditions []struct{ Type, Status string }
		Capacity   struct{ CPU string }
		// Allocatable is what pods can have of the node: less than it has, since some is reserved.
		Allocatable struct{ CPU string }
	}
}

// unfit returns why a node takes no pods of nettoll's; empty: it does.
func (n nodeState) unfit(o OwnOptions) string {
	if n.Spec.Unschedulable {
		return "is cordoned"
	}
	if os := n.Metadata.Labels["kubernetes.io/os"]; os != "" && os != "linux" {
		return "runs " + os
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != "PreferNoSchedule" && !slices.Contains(o.Tolerate, t.Key) {
			return "has the taint " + t.Key + " (--tolerate ignores it)"
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return "is not ready"
		}
	}
	if has, known := wholeCPUs(n.Status.Allocatable.CPU); known && has < o.PodCPUs {
		return fmt.Sprintf("has too few CPUs for pods (%s, and --pod-cpus asks for %d)", n.Status.Allocatable.CPU, o.PodCPUs)
	}
	return ""
}

// wholeCPUs returns how many whole CPUs are in a quantity of the API's, such as 15 or 15890m.
func wholeCPUs(quantity string) (n int, known bool) {
	text, milli := strings.CutSuffix(quantity, "m")
	n, err := strconv.Atoi(text)
	if milli {
		n /= 1000
	}
	return n, err == nil
}

// kind is what nodes that are compared should have in common.
func (n nodeState) kind() string {
	return strings.Join([]string{n.Metadata.Labels["kubernetes.io/arch"], n.Metadata.Labels["node.kubernetes.io/instance-type"], n.Status.Capacity.CPU}, " ")
}

func (n nodeState) name() string { return n.Metadata.Name }

// zone returns where a node is; empty: that is not known.
func (n nodeState) zone() string { return n.Metadata.Labels["topology.kubernetes.io/zone"] }

// nodesOfPage is how many nodes are asked for at once: each takes some ten thousand bytes of the answer.
const nodesOfPage = 100

// choose chooses the nodes. Without the right to list them, they are those that are named, or those that the scheduler
// finds (search).
func (o *Own) choose(ctx context.Context) error {
	all, err := o.list(ctx)
	var s *Status
	switch {
	case errors.As(err, &s) && s.Code == http.StatusForbidden && o.o.Zones != "":
		return fmt.Errorf("--zones: %s does not tell the zones of its nodes without the right to list them; name two with --nodes", o.who())
	case errors.As(err, &s) && s.Code == http.StatusForbidden:
		o.nodes, o.blind = o.o.Nodes, len(o.o.Nodes) == 0 // the scheduler says what is wrong with them
		return nil
	case err != nil:
		return o.refused("nodes", err)
	}
	slices.SortFunc(all, func(a, b nodeState) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	o.zones, o.claims = map[string]string{}, map[string]Claims{}
	for _, n := range all {
		o.zones[n.name()], o.claims[n.name()] = n.zone(), claimed(n.Metadata.Annotations)
	}
	if len(o.o.Nodes) > 0 {
		return o.named(all)
	}
	var fit []nodeState
	for _, n := range all {
		if why := n.unfit(o.o); why != "" {
			o.why = append(o.why, n.Metadata.Name+" "+why)
		} else {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		return fmt.Errorf("%s has no node that takes pods: %s", o.who(), strings.Join(few(o.why), ", "))
	}
	pair := o.pair(fit, true)
	if o.o.Zones != "" && pair == nil {
		if pair = o.pair(fit, false); pair == nil {
			where := record.Each(fit, func(n nodeState) string { return n.name() + " in " + cmp.Or(n.zone(), "none") })
			return fmt.Errorf("--zones %s: %s has no two such nodes that take pods; it has %s", o.o.Zones, o.who(), strings.Join(append(few(where), few(o.why)...), ", "))
		}
	}
	fit = append(pair, slices.DeleteFunc(fit, func(one nodeState) bool {
		return slices.ContainsFunc(pair, func(first nodeState) bool { return first.name() == one.name() })
	})...)
	o.nodes = append(o.nodes, record.Each(fit, nodeState.name)...)
	o.nodes = o.nodes[:min(len(o.nodes), mostUsed)]
	return nil
}

// list lists the nodes of the cluster, page by page, until there are enough of them.
func (o *Own) list(ctx context.Context) (all []nodeState, err error) {
	for next := ""; ; {
		var page struct {
			Metadata struct{ Continue string }
			Items    []nodeState
		}
		path := fmt.Sprintf("/api/v1/nodes?limit=%d", nodesOfPage)
		if next != "" {
			path += "&continue=" + url.QueryEscape(next)
		}
		if err := o.entrance.Ask(ctx, http.MethodGet, path, nil, &page); err != nil {
			return all, err
		}
		all, next = append(all, page.Items...), page.Metadata.Continue
		if next == "" || o.enough(all) {
			return all, nil
		}
	}
}

// enough reports whether further nodes would change nothing.
func (o *Own) enough(all []nodeState) bool {
	if len(o.o.Nodes) > 0 {
		return !slices.ContainsFunc(o.o.Nodes, func(name string) bool {
			return !slices.ContainsFunc(all, func(n nodeState) bool { return n.name() == name })
		})
	}
	return o.pair(record.Those(all, func(n nodeState) bool { return n.unfit(o.o) == "" }), true) != nil
}

// pair returns the first two nodes that are in such zones as are asked for, and of one kind if alike is true; nil: there are none.
func (o *Own) pair(all []nodeState, alike bool) []nodeState {
	for i, n := range all {
		j := slices.IndexFunc(all[i+1:], func(other nodeState) bool {
			if alike && other.kind() != n.kind() {
				return false
			}
			switch known := n.zone() != "" && other.zone() != ""; o.o.Zones {
			case SameZone:
				return known && n.zone() == other.zone()
			case OtherZone:
				return known && n.zone() != other.zone()
			}
			return true
		})
		if j >= 0 {
			return []nodeState{n, all[i+1+j]}
		}
	}
	return nil
}

// mostUsed is how many nodes are used unless the user names them: networks are on one or two.
const mostUsed = 2

// named uses the nodes that the user has named.
func (o *Own) named(all []nodeState) error {
	for _, name := range o.o.Nodes {
		i := slices.IndexFunc(all, func(n nodeState) bool { return n.Metadata.Name == name })
		if i < 0 {
			names := few(record.Each(all, nodeState.name))
			return Mistake{fmt.Errorf("--nodes: %s has no node %s; it has %s", o.who(), name, strings.Join(names, ", "))}
		}
		if why := all[i].unfit(o.o); why != "" {
			return fmt.Errorf("--nodes: %s takes no pods: it %s; name another", name, why)
		}
	}
	o.nodes = o.o.Nodes
	return nil
}

// few shortens a list.
func few(all []string) []string {
	const most = 8
	if n := len(all); n > most {
		return append(slices.Clone(all[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return all
}

// search has the scheduler find the nodes, if they cannot be listed: that of the keeper, and another one for a second pod, which is
// removed.
func (o *Own) search(ctx context.Context) (err error) {
	if !o.blind || len(o.nodes) > 0 {
		return nil
	}
	nodes := []string{o.keeper.pod.at}
	c := o.cluster(o.keeper)
	elsewhere := &Node{Host: ownNode{"elsewhere", o}, Not: o.keeper.pod.at, cluster: c}
	p := &Pod{Name: o.keeper.name + "-elsewhere", spec: PodSpec{Node: elsewhere}, mark: bootstrap.Mark()}
	p.Containers = []*Container{{name: "elsewhere", pod: p}}
	switch err := c.refused("pods", o.entrance.Ask(ctx, http.MethodPost, c.in("pods"), p.object(), nil)); {
	case errors.Is(err, platform.ErrUnsupported):
		o.nodes, o.why = nodes, []string{"for a second one, " + err.Error()}
		return nil
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, c.remove(context.WithoutCancel(ctx), c.in("pods", p.Name))) }()
	var why []string
	err = c.until(ctx, func(ctx context.Context) (missing, err error) {
		_, err = c.runs(ctx, p)
		switch {
		case p.at != "":
			nodes = append(nodes, p.at)
			return nil, nil
		case err != nil && !p.placing.IsZero():
			why = []string{"for a second one, " + err.Error()}
			return nil, nil
		}
		return errors.New("the scheduler does not say where a pod can be"), err
	})
	if err != nil {
		return o.refused("pods", err)
	}
	o.nodes, o.why = nodes, why
	return nil
}
