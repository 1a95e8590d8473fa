// Package testutil runs tests inside a lab of their own, with copies of the test program as their agents.
package testutil

import (
	"os"
	"testing"

	"nettoll/internal/handlers"
	"nettoll/internal/testutil/inlab"
)

// Main is the TestMain of packages whose tests build networks. If the program was started as an agent or a keeper, it runs
// that; otherwise it does as inlab.Main, which packages use that agents import: else testing these would compile all agents anew.
func Main(m *testing.M, shared ...func() error) {
	if args := os.Args[1:]; handlers.IsAgent(args) {
		inlab.Exit(0, handlers.Main(args, false, os.Stdin, os.Stdout))
	}
	inlab.Main(m, shared...)
}
