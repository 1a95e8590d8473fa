package kernel_test

import (
	"testing"

	"nettoll/network/kernel"
	"nettoll/network/networktest"
	"nettoll/platform/lab"
	"nettoll/record"
)

// TestFragmentsThatFirewallsReassemble sends datagrams larger than the MTU over bridges whose packets are tracked: the kernel
// reassembles them for that, and fragments them again for the bridge's MTU.
func TestFragmentsThatFirewallsReassemble(t *testing.T) {
	bridge := kernel.Bridge()
	networktest.Build(t, bridge, networktest.Pair) // or skip
	for _, mtu := range []int{0, 2000, 9000} {
		c := record.Cell{
			Network: bridge.Name, Hosts: 1, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: record.UDPStream,
			Options: record.Options{MessageSize: 16 << 10}, MTU: mtu, Placement: record.PlacementFree,
		}
		for _, trial := range networktest.Measure(t, lab.New(), bridge, []record.Cell{c}) {
			if trial.Status != record.OK {
				t.Errorf("MTU %d: %s: %s", mtu, trial.Status, trial.Reason)
			}
		}
	}
}
