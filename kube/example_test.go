package kube_test

import (
	"fmt"

	"nettoll/kube"
)

// A further service leads from its own addresses to a port of the given endpoints.
func ExampleFurther() {
	for _, s := range kube.Further(3, 2, kube.ServiceAddrs(0), 8080) {
		fmt.Println(s.Name, s.At, s.Ports[0].Number, "to", s.Targets[0].Number)
	}
	// Output:
	// service-4 [198.18.64.19 2001:2:0:100::13] 80 to 8080
	// service-5 [198.18.64.20 2001:2:0:100::14] 80 to 8080
}
