package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// Agents on nodes of the user's that may ask the kernel find the BPF programs that packets run through. Counting how often programs
// run costs each run some nanoseconds, so it is done when a network has been built, while no turn or trial runs. Others use the
// nodes, too: a program is one that packets run through if it has run at least as often as greetings crossed, in several whiles,
// in addition to what it runs when there are none. The kernel does not count programs that others call (tail calls).

const (
	watches   = 3                      // how often it is watched without greetings, and then with them
	greeted   = 50                     // times in each of these
	unwatched = 300 * time.Millisecond // how long it is watched without
	mostNamed = 12                     // programs of a node
)

// watchTime bounds the greetings of a watch, and the end of all.
const watchTime = 10 * time.Second

// runs is how often programs of a node had run when they were listed: first, after a while without greetings, and after them.
type runs struct {
	before, idle, after listed
}

// listed are the programs of a node at a time.
type listed struct {
	all []sampler.Program
	at  time.Time
}

// notePrograms remarks on the programs that greetings run through, which it finds for the first network of a kind, or a later one if
// that fails.
func (n *build) notePrograms(ctx context.Context, name string) error {
	topo := n.Topo
	topo.FirstPort = 0 // another one in each round
	var goesOn error
	text, err := n.cluster.Once(fmt.Sprintf("programs %s %+v", name, topo), func() (string, error) {
		text, err := n.programs(ctx)
		goesOn = n.stopCounting(ctx)
		return text, cmp.Or(err, goesOn)
	})
	switch {
	case goesOn != nil: // what is measured would cost more
		return fmt.Errorf("end counting runs of BPF programs: %w", goesOn)
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("BPF programs: %w", err)
	case err != nil:
		text = "which BPF programs packets run through is not known: " + err.Error()
	}
	if text != "" {
		n.Notes = append(n.Notes, text)
	}
	return nil
}

// stopCounting ends the counting of runs on all nodes.
func (n *build) stopCounting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTime)
	defer cancel()
	return errors.Join(record.Each(n.talking(), func(h *plumb.Host) error {
		_, err := n.readPrograms(ctx, h, false)
		return err
	})...)
}

// programs says which programs greetings run through. Runs go on being counted.
func (n *build) programs(ctx context.Context) (text string, err error) {
	families := n.dialled()
	if len(families) == 0 {
		return "", nil
	}
	all, err := n.watch(ctx, families[0])
	if err != nil {
		return "", err
	}
	var on []string
	for i, h := range slices.Backward(n.talking()) {
		on = append(on, "on "+h.Name()+" "+programsIn(all[i]))
	}
	return fmt.Sprintf("BPF programs that ran whenever greetings crossed over IPv%d: %s", families[0], strings.Join(on, "; ")), nil
}

// watch counts runs on all nodes.
func (n *build) watch(ctx context.Context, f network.Family) (all [][]runs, err error) {
	hosts := n.talking()
	all = make([][]runs, len(hosts))
	read := func(into func(*runs) *listed) error {
		for i, h := range hosts {
			list, err := n.readPrograms(ctx, h, true)
			if err != nil {
				return err
			}
			*into(&all[i][len(all[i])-1]) = listed{list, time.Now()}
		}
		return nil
	}
	pairs := n.greeting(f, beforeTrials)
	for i := range pairs {
		pairs[i].More = greeted - 1
	}
	for range watches {
		for i := range all {
			all[i] = append(all[i], runs{})
		}
		if err := read(func(r *runs) *listed { return &r.before }); err != nil {
			return nil, err
		}
		if err := await.Sleep(ctx, unwatched); err != nil {
			return nil, err
		}
		if err := read(func(r *runs) *listed { return &r.idle }); err != nil {
			return nil, err
		}
		un, err := n.meet(ctx, sampler.Meet, watchTime, pairs...)
		if err != nil {
			return nil, err
		}
		if un != nil {
			return nil, fmt.Errorf("greetings: %s", un.text)
		}
		if err := read(func(r *runs) *listed { return &r.after }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readPrograms has runs counted on the node of a host, and lists its programs; or it ends that.
func (n *build) readPrograms(ctx context.Context, h *plumb.Host, count bool) (all []sampler.Program, err error) {
	err = n.cluster.Nodes[h.Index].Agent.Call(ctx, sampler.MethodPrograms, count, &all)
	if err != nil {
		err = fmt.Errorf("on %s: %w", h.Name(), err)
	}
	return all, err
}

// programsIn names the programs that ran for greetings in all watches; "none" if there are none.
func programsIn(all []runs) string {
	var names []string
	for _, p := range all[len(all)-1].after.all {
		if slices.ContainsFunc(all, func(r runs) bool { return r.greetings(p) < greeted }) {
			continue
		}
		names = append(names, cmp.Or(p.Name, "unnamed")+" ("+p.Type+")")
	}
	if names == nil {
		return "none"
	}
	slices.Sort(names)
	counted := record.Each(record.Gather(names, func(name string) string { return name }), func(alike []string) string {
		if len(alike) > 1 {
			return fmt.Sprintf("%d of %s", len(alike), alike[0])
		}
		return alike[0]
	})
	if more := len(counted) - mostNamed; more > 0 {
		counted = append(counted[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(counted, ", ")
}

// greetings returns how often a program ran for greetings, as far as is known. To list programs takes its time on a cluster that is
// far away, so each while is what was between two lists.
func (r runs) greetings(p sampler.Program) float64 {
	of := func(l listed) float64 {
		one, _ := record.First(l.all, func(o sampler.Program) bool { return o.ID == p.ID })
		return float64(one.Runs)
	}
	others := (of(r.idle) - of(r.before)) / r.idle.at.Sub(r.before.at).Seconds()
	return of(r.after) - of(r.idle) - others*r.after.at.Sub(r.idle.at).Seconds()
}
