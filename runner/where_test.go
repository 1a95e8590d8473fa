package runner

import (
	"net/netip"
	"testing"

	"nettoll/record"
)

func TestHostOfRole(t *testing.T) {
	ends := []record.Endpoint{{Role: "client", Host: "h2"}, {Role: "server", Host: "h1"}, {Role: "client", Host: "h3"}, {Role: "server", Host: "h1"}}
	if c, s := hostOfRole(ends, "client"), hostOfRole(ends, "server"); c != "" || s != "h1" {
		t.Errorf("clients are on %q, servers on %q", c, s)
	}
}

// TestEveryWayOfAServer has a server with two clients, over veth devices of their own. What is done at the devices, or read of their
// routes, must reach both.
func TestEveryWayOfAServer(t *testing.T) {
	at := netip.MustParseAddr
	server := &AgentEndpoint{Endpoint: named("h1c1")}
	one := link{client: &AgentEndpoint{Endpoint: named("h1c2")}, server: server, toServer: at("198.19.0.2"), toClient: at("198.19.0.3")}
	again := one // by another process
	again.client = &AgentEndpoint{Endpoint: named("h1c2")}
	two := link{client: &AgentEndpoint{Endpoint: named("h1c3")}, server: server, toServer: at("198.19.0.4"), toClient: at("198.19.0.5")}
	all := []link{one, again, two}
	if ends := endsOf(all); len(ends) != 3 {
		t.Errorf("%d ends: %+v", len(ends), ends)
	}
	var to []netip.Addr
	for _, e := range waysOf(all) {
		if e.Name() == "h1c1" {
			to = append(to, e.peer)
		}
	}
	if len(to) != 2 || to[0] != one.toClient || to[1] != two.toClient || len(waysOf(all)) != 4 {
		t.Errorf("the server sends to %v, %+v", to, waysOf(all))
	}
}
