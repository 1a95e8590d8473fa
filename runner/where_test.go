package runner

import (
	"testing"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/technique"
)

// onHosts is a network that shows its hosts.
type onHosts struct {
	technique.Network
	names []string
}

func (n onHosts) Machines() (all []platform.Host) {
	for _, name := range n.names {
		all = append(all, hostNamed{name: name})
	}
	return all
}

type hostNamed struct {
	platform.Host
	name string
}

func (h hostNamed) Name() string { return h.name }

// located knows its host.
type located struct {
	hostNamed
	host string
}

func (l located) OnHost() string { return l.host }

// wrapped stands for another.
type wrapped struct {
	platform.Endpoint
	of platform.Endpoint
}

func (w wrapped) Unwrap() platform.Endpoint { return w.of }

// named is a process with a name, housed one that knows its host.
type named struct {
	platform.Process
	name string
}

func (n named) String() string { return n.name }

type housed struct{ named }

func (housed) Host() string { return "h2" }

func TestWhereThingsAre(t *testing.T) {
	one := &session{network: onHosts{names: []string{"h1"}}}
	several := &session{network: onHosts{names: []string{"h1", "h2", "h11"}}}
	hidden := &session{network: struct{ technique.Network }{}}
	for _, c := range []struct {
		s    *session
		at   platform.Endpoint
		want string
	}{
		{several, hostNamed{name: "h1c2"}, "h1"},
		{several, hostNamed{name: "h11c2"}, "h11"},
		{several, hostNamed{name: "h2"}, "h2"},
		{several, hostNamed{name: "h2c"}, ""},
		{several, hostNamed{name: "h2cafe1"}, ""},
		{several, hostNamed{name: "web"}, ""},
		{several, located{hostNamed{name: "h1c2"}, "h2"}, "h2"},
		{several, wrapped{hostNamed{name: "web"}, located{hostNamed{name: "web"}, "h2"}}, "h2"},
		{one, hostNamed{name: "web"}, "h1"},
		{hidden, hostNamed{name: "h1c1"}, ""},
	} {
		if got := c.s.hostOf(c.at); got != c.want {
			t.Errorf("%s is on %q, want %q", c.at.Name(), got, c.want)
		}
	}
	for _, c := range []struct {
		s    *session
		p    platform.Process
		want string
	}{
		{several, named{name: "flanneld on h1"}, "h1"},
		{several, named{name: "flanneld on h11"}, "h11"},
		{several, named{name: "flanneld"}, ""},
		{several, housed{named{name: "flanneld on h1"}}, "h2"},
		{one, named{name: "flanneld"}, "h1"},
		{hidden, named{name: "flanneld on h1"}, ""},
	} {
		if got := c.s.houseOf(c.p); got != c.want {
			t.Errorf("%s is on %q, want %q", c.p, got, c.want)
		}
	}
}

func TestHostOfRole(t *testing.T) {
	ends := []record.Endpoint{{Role: "client", Host: "h2"}, {Role: "server", Host: "h1"}, {Role: "client", Host: "h3"}, {Role: "server", Host: "h1"}}
	if c, s := hostOfRole(ends, "client"), hostOfRole(ends, "server"); c != "" || s != "h1" {
		t.Errorf("clients are on %q, servers on %q", c, s)
	}
}
