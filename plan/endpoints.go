package plan

import "fmt"

// checkEndpoints refuses more endpoints than the busiest host can hold.
func (s Suite) checkEndpoints(nets []named, fits [][]int, bases map[int]base, topologies []Topology) error {
	for i, net := range nets {
		for _, hosts := range fits[i] {
			for _, n := range []named{net, bases[hosts].named} {
				if err := s.checkNetwork(n, hosts, topologies); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s Suite) checkNetwork(net named, hosts int, topologies []Topology) error {
	for i, t := range topologies {
		for _, neighbours := range orZero(s.Neighbours) {
			if err := s.checkHost(net, hosts, t, s.topologyField(i), neighbours); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkHost looks at the busiest host: the only one, which holds all, or else that
// of the servers or that of clients and neighbours.
func (s Suite) checkHost(net named, hosts int, t Topology, field string, neighbours int) error {
	talking := max(t.Servers, t.Clients)
	all := max(t.Servers, t.Clients+neighbours)
	if hosts == 1 {
		talking = t.Servers + t.Clients
		all = talking + neighbours
	}
	own, counted := MaxContainers, all
	if e := net.kind.Endpoints; e > 0 {
		own = min(own, e)
		if net.kind.Overflow {
			counted = talking
		}
	}
	switch {
	case counted > own:
	case talking > MaxEndpoints:
		own, counted = MaxEndpoints, talking
	case all > MaxContainers:
		own, counted = MaxContainers, all
	default:
		return nil
	}
	what := "servers and clients"
	if counted > talking {
		what = "servers, clients and neighbours"
		if talking <= own {
			field = "neighbours"
		}
	}
	return s.fault(field, "one host would hold %d %s, %s takes %d there; write fewer, or leave %s out",
		counted, what, net.name, own, net.name)
}

// topologyField names where the topology was said.
func (s Suite) topologyField(i int) string {
	if len(s.Topologies) > 0 {
		return s.item("topologies", i, len(s.Topologies))
	}
	if len(s.Clients) == 0 && len(s.Servers) > 0 {
		return "servers"
	}
	return "clients"
}

// checkFiles refuses more processes and flows than there are descriptors for.
func (s Suite) checkFiles(known Known, topologies []Topology, drives []drive) error {
	const (
		each  = 4   // of the runner, for each process: three pipes and the process itself
		spare = 100 // of any process
	)
	streams := 1
	for _, d := range drives {
		streams = max(streams, d.options.Streams)
	}
	for i, t := range topologies {
		pairs := t.Clients * t.Processes
		runner := each*(t.Servers+pairs) + t.Servers + t.Clients
		server := (pairs + t.Servers - 1) / t.Servers * streams
		need := max(runner, server) + spare
		if known.Files == 0 || need <= known.Files {
			continue
		}
		field, flows := s.countField(), ""
		if len(s.Topologies) > 0 {
			field = s.topologyField(i)
		}
		if streams > 1 {
			flows = fmt.Sprintf(" with %d streams each", streams)
		}
		return s.fault(field, "%s%s needs %d open files in one process, %d are allowed here; write fewer, or raise the limit (ulimit -n)",
			t, flows, need, known.Files)
	}
	return nil
}
