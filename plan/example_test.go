package plan_test

import (
	"fmt"
	"log"

	"nettoll/plan"
	"nettoll/record"
)

// A network is measured on every number of hosts that it makes sense on, together with the baseline.
func ExampleExpand() {
	known := plan.Known{
		Platforms: []plan.Platform{{Name: "lab"}},
		Networks: []plan.Network{
			{Name: "host", Hosts: []int{1}, Platforms: []string{"lab"}},
			{Name: "native", Hosts: []int{2}, Platforms: []string{"lab"}},
			{Name: "macvlan", Hosts: []int{1, 2}, Platforms: []string{"lab"}},
		},
		Tools: []plan.Tool{{Name: "engine", Drives: []plan.Drive{{Workload: record.TCPRR}}}},
	}
	s := plan.Default()
	s.Networks, s.Workloads = []string{"macvlan"}, []plan.Workload{{Name: record.TCPRR}}
	cells, err := plan.Expand(s, known)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range cells {
		fmt.Println(c.Hosts, c.Network, c.Workload)
	}
	// Output:
	// 1 host tcp_rr
	// 1 macvlan tcp_rr
	// 2 native tcp_rr
	// 2 macvlan tcp_rr
}
