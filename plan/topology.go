package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Topology is who talks to whom: client i to server i modulo the number of
// servers, from each of its processes.
type Topology struct {
	Servers   int
	Clients   int // containers
	Processes int // clients in each client container
}

// ParseTopology reads SERVERSxCLIENTS or SERVERSxCLIENTSxPROCESSES.
func ParseTopology(text string) (Topology, error) {
	parts := strings.Split(strings.NewReplacer("X", "x", "×", "x").Replace(text), "x")
	t := Topology{Processes: 1}
	fields := []*int{&t.Servers, &t.Clients, &t.Processes}
	fail := fmt.Errorf("%q is not a topology; write SERVERSxCLIENTS or SERVERSxCLIENTSxPROCESSES, such as 2x8 or 1x4x16", text)
	if len(parts) < 2 || len(parts) > 3 {
		return Topology{}, fail
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return Topology{}, fail
		}
		*fields[i] = int(n)
	}
	return t, nil
}

// String writes the topology as ParseTopology reads it.
func (t Topology) String() string {
	text := fmt.Sprintf("%dx%d", t.Servers, t.Clients)
	if t.Processes != 1 {
		text += fmt.Sprintf("x%d", t.Processes)
	}
	return text
}

// Set reads a topology out of a suite or a flag.
func (t *Topology) Set(text string) (err error) {
	*t, err = ParseTopology(text)
	return err
}

// Ports that servers have, from the first on: below the ephemeral ones, which
// begin at 32768.
const (
	firstPort = 20001
	lastPort  = 32767
	portBlock = 8 // and its multiples
)

// Ports is how many ports the servers have in all: each a block with one port for
// all its clients and two for each client process.
func (t Topology) Ports() int {
	own := 1 + 2*((t.Clients+t.Servers-1)/t.Servers)*t.Processes
	return (own + portBlock - 1) / portBlock * portBlock * t.Servers
}

// topologies are those of the suite, in order: as they are listed, or else every
// number of servers with every number of clients and processes. Fewer clients than
// servers are left out of several, since lists cross.
func (s Suite) topologies() ([]Topology, error) {
	if len(s.Topologies) > 0 {
		for i, t := range s.Topologies {
			field := s.item("topologies", i, len(s.Topologies))
			if t.Clients < t.Servers {
				return nil, s.fault(field, "%s: %s", t, tooFewClients(t))
			}
			if err := s.checkPorts(field, t); err != nil {
				return nil, err
			}
		}
		return once(s.Topologies), nil
	}
	var all []Topology
	for _, servers := range orOne(s.Servers) {
		for _, clients := range orOne(s.Clients) {
			if clients < servers {
				continue
			}
			for _, processes := range orOne(s.Processes) {
				t := Topology{servers, clients, processes}
				if err := s.checkPorts(s.countField(), t); err != nil {
					return nil, err
				}
				if all = append(all, t); len(all) > MaxCells {
					return nil, s.fault(s.countField(), "there are more than %d topologies; write fewer numbers", MaxCells)
				}
			}
		}
	}
	if len(all) == 0 {
		t := Topology{orOne(s.Servers)[0], orOne(s.Clients)[0], 1}
		return nil, s.faultOfEither("servers", "clients", "%s", tooFewClients(t))
	}
	return once(all), nil
}

func tooFewClients(t Topology) string {
	return fmt.Sprintf("%d of %d servers would have no client; write at least as many clients as servers", t.Servers-t.Clients, t.Servers)
}

// countField is the last of the keys that topologies come from.
func (s Suite) countField() string {
	switch {
	case len(s.Processes) > 0:
		return "processes"
	case len(s.Clients) > 0:
		return "clients"
	}
	return "servers"
}

func (s Suite) checkPorts(field string, t Topology) error {
	const there = lastPort - firstPort + 1
	if need := t.Ports(); need > there {
		return s.fault(field, "the servers of %s need %d ports, there are %d from %d on; write fewer clients or processes", t, need, there, firstPort)
	}
	return nil
}

// orOne is the numbers of a key, and 1 where it was left out.
func orOne(numbers []int) []int {
	if len(numbers) == 0 {
		return []int{1}
	}
	return numbers
}

// checkCounts refuses numbers that are not possible, alone or beside topologies.
func (s Suite) checkCounts() error {
	counts := []struct {
		name   string
		values []int
		of     func(Topology) int
		most   int
	}{
		{"servers", s.Servers, func(t Topology) int { return t.Servers }, MaxServers},
		{"clients", s.Clients, func(t Topology) int { return t.Clients }, MaxEndpoints},
		{"processes", s.Processes, func(t Topology) int { return t.Processes }, MaxProcesses},
	}
	for _, c := range counts {
		if len(c.values) > 0 && len(s.Topologies) > 0 {
			return s.faultOfEither("topologies", c.name, "%s and topologies contradict each other; leave one out", c.name)
		}
		if err := s.eachOutside(c.name, c.values, 1, c.most, c.name+" are not possible"); err != nil {
			return err
		}
	}
	for i, t := range s.Topologies {
		for _, c := range counts {
			if err := s.outside(s.item("topologies", i, len(s.Topologies)), c.of(t), 1, c.most, c.name+" are not possible"); err != nil {
				return err
			}
		}
	}
	_, err := s.topologies()
	return err
}
