package runner

import (
	"fmt"
	"math"
	"strings"
	"time"

	"nettoll/record"
	"nettoll/sampler"
)

// What goes on beside a trial that is not the trial's makes its figures doubtful: packets
// of others on its path, and work of others on its CPUs.

// foreignPackets is how many packets containers that have no part in a trial may see, and
// how many that are for everybody those that have: some for each pair, which look for each
// other, and a few for anything.
func foreignPackets(pairs int, elapsed time.Duration) uint64 {
	const any, each, second = 50, 10, 20
	return any + each*uint64(pairs) + uint64(second*elapsed.Seconds())
}

// port is a container's veth pair on its host.
type port struct {
	index   int
	packets uint64
}

// ports are the ends of containers' veth pairs on hosts, which belong to nobody but the
// network, by "<host>/<device>".
func (s *session) ports() (map[string]port, error) {
	uplinks := map[string]bool{}
	for _, h := range s.network.Hosts {
		uplinks[h.Name()+"/"+h.Uplink().Device] = true
	}
	known, err := s.devices()
	if err != nil {
		return nil, err
	}
	all := map[string]port{}
	for host, path := range s.readable() {
		list, err := sampler.Packets(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		for device, packets := range list {
			name := host + "/" + device
			if d, ok := known[name]; ok && d.kind == "veth" && !uplinks[name] {
				all[name] = port{s.indexes[name], packets}
			}
		}
	}
	return all, nil
}

// foreignTraffic doubts a trial beside which packets crossed the network that were not its own:
// they reached containers without a part in it, or they were for everybody.
func foreignTraffic(t *record.Trial, p *proof, before, after map[string]port, pairs int, elapsed time.Duration) []record.Warning {
	most := foreignPackets(pairs, elapsed)
	for i, h := range p.hops { // whose names need not be those of devices
		host, _, _ := strings.Cut(h.Name, "/")
		for name, d := range after {
			if strings.HasPrefix(name, host+"/") && d.index == p.before[i].At.Index {
				delete(after, name)
			}
		}
	}
	var where string
	var packets uint64
	for name, d := range after {
		if n := d.packets - min(before[name].packets, d.packets); n > packets || n == packets && name < where {
			where, packets = name, n
		}
	}
	if packets > most {
		return []record.Warning{{Code: "foreign-packets", Text: fmt.Sprintf(
			"%d packets crossed %s, behind which is a container that has no part in the trial: something else was sent through the network", packets, where)}}
	}
	if where, packets := forEverybody(t); packets > most {
		return []record.Warning{{Code: "foreign-packets", Text: fmt.Sprintf(
			"%s heard %d packets that were for everybody, or asked for an echo: something else was sent through the network", where, packets)}}
	}
	return nil
}

// forEverybody is the endpoint that heard most packets which are no workload's, and how
// many those were.
func forEverybody(t *record.Trial) (where string, most uint64) {
	for _, e := range t.Endpoints {
		if e.Device == "lo" {
			continue // what others of that machine hear does not cross this path
		}
		var sum uint64
		for _, c := range []string{"IpExtInMcastPkts", "IpExtInBcastPkts", "Ip6InMcastPkts", "IcmpInEchos", "Icmp6InEchos"} {
			sum += t.Counters[e.Name+"/"+c]
		}
		if sum > most {
			where, most = e.Name, sum
		}
	}
	return where, most
}

const (
	// foreignCPU is how many CPU seconds a second others may use beside a trial.
	foreignCPU = 0.1
	// switching is what it costs at most to go from one process to another, or from and
	// to an idle CPU: a few microseconds that the clocks of none of them tell.
	switching = 5 * time.Microsecond
)

// foreignWork doubts a trial beside which the machine did what nothing explains: not the
// processes of the traffic and the daemons, by their clocks, not the kernel's work on
// packets, not the switches between all these, and not what the idle machine does.
func foreignWork(use record.CPUUse, window time.Duration, switches uint64) []record.Warning {
	own := use.Client.Total() + use.Server.Total()
	for _, d := range use.Daemons {
		own += d.Total()
	}
	seconds := window.Seconds()
	over := use.Machine.Busy - use.Idle*seconds - own - use.Machine.Softirq - float64(switches)*switching.Seconds()
	// The kernel samples its work on packets by ticks, and so for each CPU the rest.
	ticks := use.Machine.Softirq/tick.Seconds() + 2*float64(len(use.Machine.PerCPU))
	if seconds <= 0 || over <= foreignCPU*seconds+2*math.Sqrt(ticks)*tick.Seconds() {
		return nil
	}
	return []record.Warning{{Code: "foreign-cpu", Text: fmt.Sprintf(
		"something else used %.2g CPU seconds a second of the machine beside the trial", over/seconds)}}
}
