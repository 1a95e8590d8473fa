package workload_test

import (
	"fmt"
	"time"

	"nettoll/workload"
)

// A few silent flows out of many, in a window of a second, are explained by the number of flows.
func ExampleCrowded() {
	fmt.Println(workload.Crowded(1, 2, time.Second), workload.Crowded(10, 128, time.Second))
	// Output: false true
}
