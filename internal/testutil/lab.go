// Package testutil runs tests inside a lab of their own, with copies of the test program as their agents.
package testutil

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"nettoll/internal/cgroup"
	"nettoll/internal/handlers"
	"nettoll/platform/lab"
)

// Main is the TestMain of packages whose tests build networks. It runs the tests inside a lab, so that nothing of
// theirs is left whatever happens; if the program was started as an agent or a keeper, it runs that instead.
// Afterwards it calls the shared functions, which end what tests share, and fails if one of them does.
func Main(m *testing.M, shared ...func() error) {
	lab.First(cgroup.Remove)
	if args := os.Args[1:]; handlers.IsAgent(args) {
		exit(0, handlers.Main(args, false, os.Stdin, os.Stdout))
	}
	if slices.Contains(os.Args, "-test.fuzzworker") {
		os.Exit(m.Run()) // a child of a test program that is inside
	}
	if !lab.Inside() {
		exit(lab.Enter(lab.EnterOptions{Remove: cgroup.Remove}))
	}
	if err := lab.Prepare(); err != nil {
		exit(1, err)
	}
	status := m.Run()
	var errs []error
	for _, end := range shared {
		errs = append(errs, end())
	}
	exit(status, errors.Join(errs...))
}

// exit ends the program with a status, or with 1 and an error if there is one.
func exit(status int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}
