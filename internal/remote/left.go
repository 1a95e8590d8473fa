package remote

import (
	"context"
	"fmt"
	"slices"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/nl"
)

// Sweep says what is to be done with what killed runs have left on a machine.
type Sweep struct {
	Remove bool `json:"remove,omitempty"` // otherwise it is only listed
	All    bool `json:"all,omitempty"`    // agents that a run may be using are left, too
}

// Left is something that nettoll has made on a machine.
type Left struct {
	What   string `json:"what"`             // "folder /tmp/nettoll-1234-abcdef"
	Kept   string `json:"kept,omitempty"`   // why it is not removed, or empty
	Failed string `json:"failed,omitempty"` // why it could not be removed, or what could not be looked for; or empty
}

// Sweep lists what runs have left on the machine, and removes it if that is asked for. Namespaces and processes end with
// the agents that have made them.
func (m *Machine) Sweep(ctx context.Context, s Sweep) ([]Left, error) {
	return agent.Ask[[]Left](ctx, m, methodSweep, s)
}

// inUse is why the agents of runs are kept.
const inUse = "a run may be using it, otherwise it ends within half a minute; --all removes it"

// sweep is the agent's half of Machine.Sweep. What fails stands beside what does not.
func sweep(_ context.Context, s Sweep) (all []Left, err error) {
	failed := func(what string, err error) {
		if err != nil {
			all = append(all, Left{What: what, Failed: err.Error()})
		}
	}
	note := func(what, kept string, remove func() error) {
		if kept == "" && s.Remove {
			if err := remove(); err != nil {
				failed(what, err)
				return
			}
		}
		all = append(all, Left{What: what, Kept: kept})
	}
	agents := bootstrap.Others()
	folders, err := bootstrap.Folders() // which an agent that is ended may remove
	failed("folders", err)
	for _, a := range agents {
		kept := ""
		if !a.Lost && !s.All {
			kept = inUse
		}
		note(fmt.Sprintf("agent %d", a.PID), kept, a.Kill)
	}
	for _, f := range folders {
		kept := ""
		if f.Busy {
			kept = "an agent is being received there"
		}
		note("folder "+f.Path, kept, f.Remove)
	}
	failed("devices", nl.With("", func(n *nl.NS) error {
		devices, err := n.Interfaces()
		if err != nil || !slices.ContainsFunc(devices, func(d nl.Interface) bool { return d.Name == nl.Provisional }) {
			return err
		}
		kept := ""
		if slices.ContainsFunc(all, func(l Left) bool { return l.Kept == inUse }) {
			kept = "an agent may be making it"
		}
		note("device "+nl.Provisional, kept, func() error { return n.Remove(nl.Provisional) })
		return nil
	}))
	return all, nil
}
