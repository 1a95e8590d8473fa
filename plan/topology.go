package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nettoll/record"
)

// Topology is the pattern of who talks to whom: client i to server i modulo the number of servers, from each of its
// processes.
type Topology struct {
	Servers   int
	Clients   int // containers
	Processes int // client processes in each client container
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

// Set parses a topology from a suite or a flag.
func (t *Topology) Set(text string) error { return set(t, ParseTopology, text) }

// Ports returns how many ports all servers take together.
func (t Topology) Ports() int {
	return t.Servers * record.ServerPorts(t.Servers, t.Clients, t.Processes)
}

// topologies returns the suite's topologies in order: the listed ones, or else every number of servers with every
// number of clients and processes. Combinations with fewer clients than servers are left out, since lists cross; a
// number that is in no other combination is a fault.
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
	least, most := slices.Min(or(s.Servers, 1)), slices.Max(or(s.Clients, 1))
	for _, servers := range or(s.Servers, 1) {
		if servers > most {
			return nil, s.faultOfEither("servers", "clients", "%s", tooFewClients(Topology{servers, most, 1}))
		}
	}
	for _, clients := range or(s.Clients, 1) {
		if clients < least {
			return nil, s.faultOfEither("clients", "servers", "%s", tooFewClients(Topology{least, clients, 1}))
		}
	}
	var all []Topology
	for _, servers := range or(s.Servers, 1) {
		for _, clients := range or(s.Clients, 1) {
			if clients < servers {
				continue
			}
			for _, processes := range or(s.Processes, 1) {
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
	return once(all), nil
}

func tooFewClients(t Topology) string {
	return fmt.Sprintf("%d of %d servers would have no client; write at least as many clients as servers", t.Servers-t.Clients, t.Servers)
}

// countField returns the last given one of the keys that topologies come from.
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
	if need := t.Ports(); need > allPorts {
		return s.fault(field, "the servers of %s need %d ports, there are %d from %d on; write fewer clients or processes", t, need, allPorts, record.FirstPort)
	}
	return nil
}

// checkCounts refuses topologies that are not possible, or that are given in addition to numbers.
func (s Suite) checkCounts() error {
	for _, key := range []string{"servers", "clients", "processes"} {
		if s.field(key).Len() > 0 && len(s.Topologies) > 0 {
			return s.faultOfEither("topologies", key, "%s and topologies contradict each other; leave one out", key)
		}
	}
	for i, t := range s.Topologies {
		alone := Default()
		alone.Servers, alone.Clients, alone.Processes = []int{t.Servers}, []int{t.Clients}, []int{t.Processes}
		if wrong, ok := errors.AsType[*FieldError](alone.checkNumbers()); ok {
			return s.fault(s.item("topologies", i, len(s.Topologies)), "%s", wrong.Text)
		}
	}
	_, err := s.topologies()
	return err
}

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
		for _, v := range or(s.Conditions["neighbours"], any(0)) {
			if err := s.checkHost(net, hosts, t, s.topologyField(i), v.(int)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkHost checks the busiest host: the only one, which holds all endpoints, or else that of the clients and neighbours,
// which are at least as many as the servers.
func (s Suite) checkHost(net named, hosts int, t Topology, field string, neighbours int) error {
	talking := t.Clients
	if hosts == 1 {
		talking += t.Servers
	}
	all := talking + neighbours
	own, counted := record.MaxContainers, all
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
	case all > record.MaxContainers:
		own, counted = record.MaxContainers, all
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

// topologyField names the field that the topology came from.
func (s Suite) topologyField(i int) string {
	if len(s.Topologies) > 0 {
		return s.item("topologies", i, len(s.Topologies))
	}
	if len(s.Clients) == 0 && len(s.Servers) > 0 {
		return "servers"
	}
	return "clients"
}

// checkFiles refuses more processes and flows than there are file descriptors for.
func (s Suite) checkFiles(known Known, topologies []Topology, drives []drive) error {
	const (
		each  = 4   // held by the runner for each process: three pipes and the process itself
		spare = 100 // for other files of a process
	)
	streams := max(1, record.Most(drives, func(d drive) int { return d.options.Streams }))
	for i, t := range topologies {
		pairs := t.Clients * t.Processes
		runner := each*(t.Servers+pairs) + t.Servers + t.Clients
		server := (pairs + t.Servers - 1) / t.Servers * streams
		need := max(runner, server) + spare
		if known.Files == 0 || need <= known.Files {
			continue
		}
		if t.Servers == 1 && pairs == 1 && streams == 1 { // no suite needs less
			return &FieldError{Text: fmt.Sprintf("a run needs %d open files in one process, %d are allowed here; raise the limit (ulimit -n)", need, known.Files)}
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
