package pasta_test

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/network/networktest"
	"nettoll/network/pasta"
	"nettoll/platform/lab"
	"nettoll/record"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// TestSizes checks that nothing is said of the container's MTU, which is larger than the hosts': pasta ends the clients' packets.
func TestSizes(t *testing.T) {
	cells := []record.Cell{{
		Network: "published-pasta", Hosts: 2, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.TCPStream, Placement: record.PlacementFree,
	}}
	for _, trial := range networktest.Measure(t, lab.New(), pasta.New(nil), cells) {
		if trial.Status != record.OK {
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		}
		for _, w := range trial.Warnings {
			if w.Code == record.FoundMTU {
				t.Error(w.Text)
			}
		}
	}
}

func TestConform(t *testing.T) { networktest.Conform(t, pasta.New(nil)) }

// TestProgramThatEnds checks that the network notices, and can still be taken down.
func TestProgramThatEnds(t *testing.T) {
	n := networktest.Build(t, pasta.New(nil), networktest.Pair)
	if len(n.Daemons) != 1 {
		t.Fatalf("%d processes carry payload, want one for the server", len(n.Daemons))
	}
	networktest.Killed(t, n, n.Daemons[0].PID, "pasta of h1c1 on h1")
}
