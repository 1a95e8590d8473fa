package runner

import (
	"testing"

	"nettoll/record"
)

func TestHostOfRole(t *testing.T) {
	ends := []record.Endpoint{{Role: "client", Host: "h2"}, {Role: "server", Host: "h1"}, {Role: "client", Host: "h3"}, {Role: "server", Host: "h1"}}
	if c, s := hostOfRole(ends, "client"), hostOfRole(ends, "server"); c != "" || s != "h1" {
		t.Errorf("clients are on %q, servers on %q", c, s)
	}
}
