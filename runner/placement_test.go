package runner

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// cpusOf returns a machine with CPUs, each given as its package and core.
func cpusOf(places ...[2]int) (m record.Machine) {
	for id, p := range places {
		m.CPUs = append(m.CPUs, record.CPU{ID: id, Package: p[0], Core: p[1]})
	}
	return m
}

// slow returns the machine with its CPUs from one on of a slow kind.
func slow(m record.Machine, from int) record.Machine {
	for i := from; i < len(m.CPUs); i++ {
		m.CPUs[i].Slow = true
	}
	return m
}

func TestPlace(t *testing.T) {
	nowhere := workload.CPUs{}
	on := func(client, server []int) workload.CPUs { return workload.CPUs{Client: client, Server: server} }
	for _, c := range []struct {
		name           string
		machine        record.Machine
		same, distinct workload.CPUs
	}{
		{"unknown", record.Machine{}, nowhere, nowhere},
		{"one CPU", cpusOf([2]int{0, 0}), on([]int{0}, []int{0}), nowhere},
		{"two cores", cpusOf([2]int{0, 0}, [2]int{0, 1}), on([]int{0}, []int{0}), on([]int{0}, []int{1})},
		{"one core of two threads", cpusOf([2]int{0, 0}, [2]int{0, 0}), on([]int{0}, []int{0}), on([]int{0}, []int{1})},
		{
			"three cores: the odd one is the server's",
			cpusOf([2]int{0, 0}, [2]int{0, 1}, [2]int{0, 2}),
			on([]int{0}, []int{0}), on([]int{0}, []int{1, 2}),
		},
		{
			"four cores, threads numbered after the cores",
			cpusOf([2]int{0, 0}, [2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}, [2]int{0, 0}, [2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}),
			on([]int{0}, []int{0}), on([]int{0, 1, 4, 5}, []int{2, 3, 6, 7}),
		},
		{
			"two cores, threads numbered next to each other",
			cpusOf([2]int{0, 0}, [2]int{0, 0}, [2]int{0, 1}, [2]int{0, 1}),
			on([]int{0}, []int{0}), on([]int{0, 1}, []int{2, 3}),
		},
		{
			"two packages with equal core numbers",
			cpusOf([2]int{0, 0}, [2]int{1, 0}, [2]int{0, 1}, [2]int{1, 1}),
			on([]int{0}, []int{0}), on([]int{0}, []int{2}),
		},
		{
			"two packages, more of the second may be used",
			cpusOf([2]int{0, 0}, [2]int{1, 0}, [2]int{1, 1}),
			on([]int{1}, []int{1}), on([]int{1}, []int{2}),
		},
		{
			"two fast cores, and slow ones",
			slow(cpusOf([2]int{0, 0}, [2]int{0, 0}, [2]int{0, 1}, [2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}, [2]int{0, 4}, [2]int{0, 5}), 4),
			on([]int{0}, []int{0}), on([]int{0, 1}, []int{2, 3}),
		},
		{
			"one fast CPU, and slow ones",
			slow(cpusOf([2]int{0, 0}, [2]int{0, 1}, [2]int{0, 2}), 1),
			on([]int{0}, []int{0}), on([]int{0}, []int{1, 2}),
		},
		{
			"a package for each CPU",
			cpusOf([2]int{0, 0}, [2]int{1, 0}, [2]int{2, 0}, [2]int{3, 0}),
			on([]int{0}, []int{0}), on([]int{0, 1}, []int{2, 3}),
		},
		{
			"one core with a second thread",
			cpusOf([2]int{0, 0}, [2]int{0, 1}, [2]int{0, 1}),
			on([]int{0}, []int{0}), on([]int{0}, []int{1, 2}),
		},
		{
			"CPUs that do not count from 0",
			record.Machine{CPUs: []record.CPU{{ID: 7, Core: 1}, {ID: 3, Core: 3}, {ID: 5, Core: 2}}},
			on([]int{3}, []int{3}), on([]int{3}, []int{5, 7}),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for placement, want := range map[string]workload.CPUs{
				record.PlacementFree: nowhere, record.PlacementSame: c.same, record.PlacementDistinct: c.distinct,
			} {
				if diff := cmp.Diff(want, Place(c.machine, placement)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", placement, diff)
				}
			}
		})
	}
}

// TestPlaceNearTheCard has each end on CPUs of the NUMA node of its machine's network card, as far as it may use two cores there.
func TestPlaceNearTheCard(t *testing.T) {
	four := cpusOf([2]int{0, 0}, [2]int{0, 1}, [2]int{1, 2}, [2]int{1, 3})
	client, server := &AgentEndpoint{}, &AgentEndpoint{}
	on := map[*AgentEndpoint]*machine{client: {facts: four}, server: {facts: four}}
	for name, c := range map[string]struct {
		client, server, wantClient, wantServer []int
		far                                    int
	}{
		"all are near":        {nil, nil, []int{0}, []int{1}, 0},
		"the second node":     {[]int{2, 3}, []int{2, 3}, []int{2}, []int{3}, 0},
		"different nodes":     {[]int{0, 1}, []int{2, 3, 4, 5}, []int{0}, []int{3}, 0},
		"one that it may use": {[]int{3, 4, 5}, []int{1, 7}, []int{3}, []int{1}, 0},
		"none that it may":    {[]int{4, 5}, []int{7}, []int{0}, []int{1}, 1},
	} {
		ends := []record.Endpoint{{Role: "client", NIC: &record.NIC{Near: c.client}}, {Role: "server", NIC: &record.NIC{Near: c.server}}}
		m := &machines{all: []*machine{on[client], on[server]}, of: on}
		got, err := m.place(record.PlacementDistinct, []link{{client: client, server: server}}, ends)
		if diff := cmp.Diff(workload.CPUs{Client: c.wantClient, Server: c.wantServer}, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		place(ends, got)
		if w := farFromCard(ends); len(w) != c.far {
			t.Errorf("%s: %v", name, w)
		}
	}
	// Clients on two machines have CPUs that both have, near both cards if there are some.
	small := &machine{facts: cpusOf([2]int{0, 0}, [2]int{0, 1})}
	large := &machine{facts: cpusOf([2]int{0, 0}, [2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}, [2]int{0, 4}, [2]int{0, 5})}
	for name, c := range map[string]struct {
		near [2][]int // of the clients' cards
		want []int
	}{
		"no card says":       {[2][]int{nil, nil}, []int{0}},
		"one near both":      {[2][]int{{1, 5}, {1}}, []int{1}},
		"none is near both":  {[2][]int{{4, 5}, {1}}, []int{0}},
		"one that is shared": {[2][]int{{1, 4, 5}, {0, 1}}, []int{1}},
	} {
		first, second, server := &AgentEndpoint{Endpoint: named("c1")}, &AgentEndpoint{Endpoint: named("c2")}, &AgentEndpoint{Endpoint: named("s")}
		m := &machines{of: map[*AgentEndpoint]*machine{first: large, second: small, server: on[client]}}
		ends := []record.Endpoint{{Role: "client", NIC: &record.NIC{Near: c.near[0]}}, {Role: "server"}, {Role: "client", NIC: &record.NIC{Near: c.near[1]}}}
		got, err := m.place(record.PlacementDistinct, []link{{client: first, server: server}, {client: second, server: server}}, ends)
		if want := (workload.CPUs{Client: c.want, Server: []int{1}}); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	// Clients on machines without CPUs in common have none.
	other := &machine{facts: record.Machine{CPUs: []record.CPU{{ID: 7}}}}
	further := &AgentEndpoint{Endpoint: named("c2")}
	apart := &machines{of: map[*AgentEndpoint]*machine{client: small, further: other, server: on[server]}}
	for placement, refused := range map[string]bool{record.PlacementDistinct: true, record.PlacementSame: true, record.PlacementFree: false} {
		if _, err := apart.place(placement, []link{{client: client, server: server}, {client: further, server: server}}, nil); errors.Is(err, platform.ErrUnsupported) != refused {
			t.Errorf("%s without CPUs in common: %v", placement, err)
		}
	}
	// An end that has one core has all of it.
	one := &machine{facts: cpusOf([2]int{0, 0}, [2]int{0, 0})}
	m := &machines{all: []*machine{one, on[server]}, of: map[*AgentEndpoint]*machine{client: one, server: on[server]}}
	got, err := m.place(record.PlacementDistinct, []link{{client: client, server: server}}, nil)
	if want := (workload.CPUs{Client: []int{0, 1}, Server: []int{1}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("one core: %v, %v, want %v", got, err, want)
	}
}
