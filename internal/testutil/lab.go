// Package testutil runs tests inside a lab of their own, with copies of the test program as their agents.
package testutil

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/cgroup"
	"nettoll/internal/handlers"
	"nettoll/internal/keeper"
	"nettoll/platform/lab"
)

// Main is the TestMain of packages whose tests build networks. It runs the tests inside a lab, so that nothing of
// theirs is left whatever happens; if the program was started as an agent or a keeper, it runs that instead.
// Afterwards it calls the shared functions, which end what tests share, and fails if one of them does.
func Main(m *testing.M, shared ...func() error) {
	lab.First(cgroup.Remove)
	if len(os.Args) == 2 && os.Args[1] == "agent" {
		os.Exit(runAgent())
	}
	if bootstrap.IsAgent(os.Args[1:]) {
		os.Exit(runInjected())
	}
	if slices.Equal(os.Args[1:], keeper.Args) {
		os.Exit(keeper.Main())
	}
	if slices.Contains(os.Args, "-test.fuzzworker") {
		os.Exit(m.Run()) // a child of a test program that is inside
	}
	if !lab.Inside() {
		status, err := lab.Enter(lab.EnterOptions{Remove: cgroup.Remove})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		os.Exit(status)
	}
	if err := lab.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	for _, end := range shared {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

func runAgent() int {
	ctx := context.Background()
	if err := agent.Serve(ctx, os.Stdin, os.Stdout, handlers.All(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runInjected() int {
	if err := bootstrap.Serve(os.Args[3], os.Stdin, os.Stdout, handlers.All); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
