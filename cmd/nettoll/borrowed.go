package main

import (
	"errors"
	"sync"

	"nettoll/internal/keeper"
	"nettoll/internal/program"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// kernel says what the kernel does for programs of this machine. Nil is that it does.
type kernelFacts struct {
	keep func() error // end all that a program has started together with it
	hold func() error // hold the sockets of one that cannot be told where to listen
}

// thisKernel is that of this machine.
var thisKernel = kernelFacts{keep: sync.OnceValue(keeper.CanKeep), hold: sync.OnceValue(keeper.CanHold)}

// safe refuses, before anything is built, servers on a machine of the user's that could outlive
// nettoll there, or that anybody around could reach.
func (k kernelFacts) safe(cells []record.Cell, paths program.Paths) error {
	all, tools := recipes(engines{}), toolByName(paths)
	for _, c := range cells {
		around := platform.Surroundings{Outlive: true} // of the lab's networks beside an engine
		if onEngines(c.Network) {
			around = all[c.Network].Driver.Around
		}
		if _, starts := tools[c.Tool].(workload.Prober); starts && around.Outlive {
			if err := k.keep(); err != nil {
				return refusal(c, err)
			}
		}
		if r, roams := tools[c.Tool].(workload.Roamer); roams && around.Open {
			if err := k.hold(); err != nil {
				return refusal(c, unheld(r, err))
			}
		}
	}
	return nil
}

// unheld is that of a server which would listen on all addresses.
func unheld(r workload.Roamer, err error) error {
	return &platform.Unsupported{
		Feature: r.Roams() + " on a network that others reach", Option: "a kernel that holds it to an address, since it cannot be told where to listen",
		Remedy: "Linux 5.5 or later with seccomp, another tool, or --private-engine", Err: err,
	}
}

func refusal(c record.Cell, err error) error {
	remedy := ""
	var missing *platform.Unsupported
	if errors.As(err, &missing) {
		remedy = "; " + missing.Remedy
	}
	return usagef("%s with %s: %w%s", c.Network, c.Tool, err, remedy)
}

// held says of a tool how it is kept from listening where others reach it.
func (k kernelFacts) held(t workload.Tool) string {
	r, roams := t.(workload.Roamer)
	if !roams {
		return ""
	}
	if err := k.hold(); err != nil {
		return "; not on the network of a Docker engine's machine: " + unheld(r, err).Error()
	}
	return "; " + r.Roams() + " cannot be told where to listen, and is held to its clients' address (seccomp)"
}
