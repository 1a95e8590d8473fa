package runner_test

import (
	"os/exec"
	"strings"
	"testing"

	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/runner/runnertest"
	"nettoll/workload/engine"
)

// The following tests change networks right after they were built, so that traffic takes another path, and devices of the right names
// still count every byte of the payload.

// aside is a script that connects two hosts by a veth pair, over which matching packets of the containers are sent.
func aside(match string) string {
	return `
		test $i = 1 || ip link add aside type veth peer name aside netns $other
		ip link set aside up
		nft add table netdev t
		nft "add chain netdev t from { type filter hook ingress device $port priority 0; }"
		nft "add chain netdev t to { type filter hook ingress device aside priority 0; }"
		nft "add rule netdev t from ` + match + ` fwd to aside"
		nft "add rule netdev t to fwd to $port"`
}

func TestSabotage(t *testing.T) {
	_, err := exec.LookPath("nft")
	platformtest.Require(t, "nft", err)
	cell := func(workload string, hosts int) record.Cell {
		return record.Cell{Hosts: hosts, Family: 4, Servers: 1, Clients: 1, Tool: "engine", Workload: workload, Placement: record.PlacementFree}
	}
	for _, c := range []struct {
		name   string
		driver network.Driver
		script string
		cell   record.Cell
		reason string
	}{
		{
			"connections beside the tunnel", kernel.VXLAN(), aside("ip protocol tcp @th,$((14 + 16 * (1 - i))),1 1"),
			cell(record.TCPCRR, 2), " packets crossed h2/vxlan0 in one of the two directions, at least ",
		},
		{
			"acknowledgements beside the tunnel", kernel.VXLAN(), aside("tcp flags ack / fin,syn,rst,psh,ack meta length < 100 numgen inc mod 4 1"),
			cell(record.TCPStream, 2), " packets crossed h2/vxlan0 in one of the two directions, at least ",
		},
		{
			"a macvlan device in place of the tunnel", kernel.VXLAN(), `
				ip link del vxlan0
				ip link add vxlan0 link eth0 type macvlan mode passthru
				ip link set vxlan0 master br0 up`,
			cell(record.TCPRR, 2), "wrong path: h2/vxlan0 is of the kind macvlan, and should be of the kind vxlan",
		},
		{
			"a bridge between the ends of a pair", kernel.Veth(), `
				ip link add between type bridge
				ip link set between up
				attach() {
					ip link add $1 type veth peer name eth0 netns $2
					ip link set $1 master between up
					nsenter --net=$2 ip addr add $3 dev eth0
					nsenter --net=$2 ip link set eth0 up
				}
				of() { nsenter --net=$1 ip -o -4 addr show dev eth0 | awk '{print $4}'; }
				to=$(of $server) from=$(of $client)
				nsenter --net=$client ip link del eth0
				attach left $client $from
				attach right $server $to`,
			cell(record.TCPRR, 1), "wrong path: h1c2/eth0 is not connected to h1c1/eth0",
		},
		{
			"two bridges in place of one", kernel.BridgeWithoutNetfilter(), `
				ip link add br1 type bridge
				ip link add left type veth peer name right
				ip link set left master br0 up
				ip link set right master br1 up
				ip link set br1 up
				ip link set $port master br1`,
			cell(record.TCPRR, 1), "wrong path: h1/veth0 is not a port of its bridge",
		},
		{
			"answers past the rules", kernel.Bridge(), `
				nft add table netdev t
				nft "add chain netdev t c { type filter hook ingress device $port priority 0; }"
				nft "add rule netdev t c ip protocol tcp fwd to $client_port"`,
			cell(record.TCPRR, 1), " packets crossed h1/rule-established, at least ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cell.Network = c.driver.Name
			for _, tr := range again(func() []record.Trial {
				return aRound(t, lab.New(), engine.New(), runnertest.Sabotaged(c.driver, c.script), c.cell)
			}) {
				if tr.Status != record.Invalid || !strings.Contains(tr.Reason, c.reason) {
					t.Errorf("%s with reason %q, want %q (%+v)", tr.Status, tr.Reason, c.reason, tr.Path)
				}
			}
		})
	}
}
