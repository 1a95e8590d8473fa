package runner_test

import (
	"fmt"

	"nettoll/record"
	"nettoll/runner"
)

// Client and server share a cache, but no core.
func ExamplePlace() {
	m := record.Machine{CPUs: []record.CPU{{ID: 0, Core: 0}, {ID: 1, Core: 1}, {ID: 2, Core: 2}, {ID: 3, Core: 3}}}
	cpus := runner.Place(m, record.PlacementDistinct)
	fmt.Println("client", cpus.Client, "server", cpus.Server)
	// Output: client [0 1] server [2 3]
}
