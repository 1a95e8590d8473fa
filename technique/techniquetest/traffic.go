package techniquetest

import (
	"testing"

	"nettoll/record"
)

// several is a network with all that a topology can have: client processes that share
// a container, neighbours, rules, another MTU, more than two hosts. Datagrams cross
// it too.
func several(t *testing.T, s *subject, hosts int) {
	mtu := 9000
	if l, ok := s.Technique.(interface{ MaxMTU() int }); ok {
		mtu = min(mtu, l.MaxMTU())
	}
	cell := record.Cell{
		Network: s.network(), Hosts: hosts, Family: int(s.families()[0]), Servers: 2, Clients: 3, Processes: 2,
		Neighbours: 3, Rules: 30, MTU: mtu,
		Tool: "engine", Placement: record.PlacementFree,
	}
	switch { // engines start a few containers in a second, and publish a few ports
	case s.engines && hosts > 1:
		cell.Servers, cell.Clients, cell.Processes, cell.Neighbours = 1, hosts-1, 0, 1
	case s.engines:
		cell.Servers, cell.Clients, cell.Neighbours = 1, 1, 1
	}
	var cells []record.Cell
	for _, load := range []string{record.TCPRR, record.UDPRR} {
		cell.Workload = load
		cells = append(cells, cell)
	}
	trials := Measure(t, s.platform, s.Technique, cells)
	want(t, trials)
	for _, trial := range trials {
		for _, e := range trial.Endpoints {
			if least := mtu - overhead; e.MTU < least {
				t.Errorf("%s: %s of %s has the MTU %d, where the underlay has %d", trial.Cell.Key(), e.Device, e.Name, e.MTU, mtu)
			}
		}
	}
}

// overhead is more than any tunnel takes of the underlay's MTU, in bytes.
const overhead = 200

// traffic sends both workloads over both families, between one pair and among several,
// and wants every path proved. Where engines take long it is one workload for each
// family, among several; and since these stay, nothing of it may be left on them.
func traffic(t *testing.T, s *subject, hosts int) {
	sizes, loads := s.sizes(), []string{record.TCPStream, record.TCPRR}
	if s.engines {
		sizes = [][2]int{{2, 2}}
		_, kept := s.keep(t, hosts)
		before := State(t, kept.All()...)
		defer func() { Same(t, "after the traffic", before, State(t, kept.All()...)) }()
	}
	var cells []record.Cell
	for _, size := range sizes {
		for i, family := range s.families() {
			some := loads
			if s.engines {
				some = loads[i : i+1]
			}
			for _, load := range some {
				cells = append(cells, record.Cell{
					Network: s.network(), Hosts: hosts, Family: int(family), Servers: size[0], Clients: size[1],
					Tool: "engine", Workload: load, Placement: record.PlacementFree,
				})
			}
		}
	}
	want(t, Measure(t, s.platform, s.Technique, cells))
}

// want says of trials what is not as it should be.
func want(t *testing.T, trials []record.Trial) {
	t.Helper()
	for _, trial := range trials {
		if trial.Status != record.OK {
			t.Errorf("%s: %s: %s", trial.Cell.Key(), trial.Status, trial.Reason)
			for _, h := range trial.Path {
				t.Logf("%+v", h)
			}
			continue
		}
		if want := trial.Cell.Pairs(); len(trial.Flows) != want {
			t.Errorf("%s: %d flows, want %d", trial.Cell.Key(), len(trial.Flows), want)
		}
		if len(trial.Path) == 0 || len(trial.Endpoints) == 0 {
			t.Errorf("%s: no path or no endpoints recorded", trial.Cell.Key())
		}
	}
}
