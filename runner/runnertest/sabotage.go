package runnertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"nettoll/internal/netns"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// Sabotaged returns a driver that runs a script in the namespace of each of a network's hosts, one after the other, once it has been
// built. The script knows
//
//	$i                  the number of the host, from 0
//	$port, $client_port the ports of the host's container, the server on the first host, and of the client
//	$server_address     the server's IPv4 address
//	$other              the namespace of the other host
//	$client, $server    the namespaces of the containers
func Sabotaged(d network.Driver, script string) network.Driver {
	return d.Then(func(ctx context.Context, _ network.Topology, n *network.Network) error {
		server, client := n.Servers[0].(*plumb.Node), n.Clients[0].(*plumb.Node)
		for i, h := range n.Hosts {
			here, other := server, n.Hosts[len(n.Hosts)-1]
			if i == 1 {
				here, other = client, n.Hosts[0]
			}
			cmd := exec.CommandContext(ctx, "nsenter", "--net="+netns.Reachable(h.Facts().NetNS), "sh", "-ec", script)
			cmd.Env = append(os.Environ(), fmt.Sprintf("i=%d", i), "port="+here.Port, "client_port="+client.Port, "server_address="+server.Addr4.String(),
				"other="+netns.Reachable(other.Facts().NetNS), "client="+netns.Reachable(client.NS), "server="+netns.Reachable(server.NS))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
		}
		return nil
	})
}
