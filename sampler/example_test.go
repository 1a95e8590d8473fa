package sampler_test

import (
	"fmt"

	"nettoll/sampler"
)

// Counters that did not change and gauges that went down are left out.
func ExampleDelta() {
	before := map[string]uint64{"TcpRetransSegs": 3, "TcpCurrEstab": 2, "IpInReceives": 100}
	after := map[string]uint64{"TcpRetransSegs": 3, "TcpCurrEstab": 1, "IpInReceives": 164}
	fmt.Println(sampler.Delta(before, after))
	// Output: map[IpInReceives:64]
}
