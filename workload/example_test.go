package workload_test

import (
	"fmt"
	"time"

	"nettoll/workload"
)

// A few of many flows that received nothing in a second are explained by their number.
func ExampleCrowded() {
	fmt.Println(workload.Crowded(1, 2, time.Second), workload.Crowded(10, 128, time.Second))
	// Output: false true
}
