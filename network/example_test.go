package network_test

import (
	"fmt"

	"nettoll/network"
)

// Clients talk to servers in turn. A network that lets only some ports through needs to know which.
func ExampleTopology() {
	topo := network.Topology{Hosts: 2, Servers: 2, Clients: 3}
	for client := range topo.Clients {
		server := topo.Pair(client)
		first, last := topo.Ports(server)
		fmt.Printf("client %d talks to server %d, at ports %d to %d\n", client, server, first, last)
	}
	// Output:
	// client 0 talks to server 0, at ports 20001 to 20008
	// client 1 talks to server 1, at ports 20009 to 20016
	// client 2 talks to server 0, at ports 20001 to 20008
}
