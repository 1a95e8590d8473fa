// Package inlab runs tests inside a lab of their own. Tests whose networks have agents use testutil.Main.
package inlab

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"nettoll/internal/cgroup"
	"nettoll/platform/lab"
)

// Main is the TestMain of packages whose tests make namespaces. It runs the tests inside a lab, so that nothing of
// theirs is left whatever happens. Afterwards it calls the shared functions, which end what tests share, and fails if one of
// them does.
func Main(m *testing.M, shared ...func() error) {
	lab.First(cgroup.Remove)
	if slices.Contains(os.Args, "-test.fuzzworker") {
		os.Exit(m.Run()) // a child of a test program that is inside
	}
	if !lab.Inside() {
		Exit(lab.Enter(lab.EnterOptions{Remove: cgroup.Remove}))
	}
	if err := lab.Prepare(); err != nil {
		Exit(1, err)
	}
	status := m.Run()
	var errs []error
	for _, end := range shared {
		errs = append(errs, end())
	}
	Exit(status, errors.Join(errs...))
}

// Exit ends the program with a status, or with 1 and an error if there is one.
func Exit(status int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}
