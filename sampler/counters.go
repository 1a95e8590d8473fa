package sampler

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/wrap"
)

// Counters reads the counters of this process's network namespace: those of its protocols, from snmp,
// netstat and snmp6 below /proc/net, with names such as TcpRetransSegs; those of connection tracking; those of each device, such as
// eth0.rx_bytes; and the softnet counters, which are sums over the machine's CPUs. proc is "/proc".
func Counters(proc string) (map[string]uint64, error) {
	return countersOf(filepath.Join(proc, "self", "net"), append(slices.Clone(protocols), table{"dev", interfaces, false}, table{"softnet_stat", softnet, false})...)
}

// Tracking reads those of the counters that are about connection tracking. proc is "/proc".
func Tracking(proc string) (map[string]uint64, error) {
	return countersOf(filepath.Join(proc, "self", "net"), tracking)
}

// Protocols reads the protocol counters of the network namespace at path, by the names that Counters
// gives them.
func Protocols(path string) (all map[string]uint64, err error) {
	return countersIn(path, protocols...)
}

// Packets returns how many packets each device of the network namespace at path has received and
// sent. With thousands of devices it takes a fraction of the time that Devices takes.
func Packets(path string) (map[string]uint64, error) {
	return countersIn(path, table{"dev", packets, false})
}

func countersIn(path string, tables ...table) (all map[string]uint64, err error) {
	err = netns.Do(path, func() error {
		all, err = countersOf("/proc/thread-self/net", tables...)
		return err
	})
	return all, err
}

// table is a file of counters below /proc/self/net.
type table struct {
	name     string
	read     func(text string, into map[string]uint64) error
	optional bool // a kernel without what it counts has no such file
}

// protocols are the tables of counters that do not depend on the device.
var protocols = []table{{"snmp", pairs, false}, {"netstat", pairs, false}, {"snmp6", single, true}, tracking}

var tracking = table{"stat/nf_conntrack", tracked, true}

func countersOf(dir string, tables ...table) (map[string]uint64, error) {
	all := make(map[string]uint64)
	for _, f := range tables {
		path := filepath.Join(dir, f.name)
		b, err := os.ReadFile(path)
		if f.optional && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("sampler: %w", err)
		}
		if err := f.read(string(b), all); err != nil {
			return nil, fmt.Errorf("sampler: %s: %w", path, err)
		}
	}
	return all, nil
}

// read returns the text of a file without surrounding white space.
func read(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("sampler: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Delta returns how much counters grew between two readings, without zeros. Values that went down
// (gauges) are left out, too, also one that went below zero: the kernel reads the parts of
// TcpCurrEstab one after the other, so that their sum can be −1, which it writes as 2⁶⁴−1.
func Delta(from, to map[string]uint64) map[string]uint64 {
	d := make(map[string]uint64)
	for name, v := range to {
		if v > from[name] && v-from[name] <= math.MaxInt64 {
			d[name] = v - from[name]
		}
	}
	return d
}

// pairs reads pairs of lines: names and values, each after a prefix.
func pairs(text string, into map[string]uint64) error {
	for two := range slices.Chunk(slices.Collect(strings.Lines(text)), 2) {
		if len(two) < 2 {
			return errors.New("names without values")
		}
		names, values := strings.Fields(two[0]), strings.Fields(two[1])
		if len(names) == 0 || len(names) != len(values) || names[0] != values[0] {
			return fmt.Errorf("names and values of %q do not match", strings.Join(names[:min(1, len(names))], ""))
		}
		prefix := strings.TrimSuffix(names[0], ":")
		for i := 1; i < len(names); i++ {
			v, err := strconv.ParseUint(values[i], 10, 64)
			if err == nil {
				into[prefix+names[i]] = v
			} else if _, signed := strconv.ParseInt(values[i], 10, 64); signed != nil { // MaxConn is -1
				return fmt.Errorf("%s%s: %w", prefix, names[i], err)
			}
		}
	}
	return nil
}

// single reads lines of a name and a value each.
func single(text string, into map[string]uint64) error {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 2 {
			return unexpected(line)
		}
		v, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return err
		}
		into[f[0]] = v
	}
	return nil
}

// Counters of how often the machine's tables of neighbours were full, which all its namespaces share.
const (
	tableFulls     = ".table_fulls"
	CounterFullARP = "arp_cache" + tableFulls
	CounterFullNDP = "ndisc_cache" + tableFulls
)

// Counters of connection tracking.
const (
	CounterTrackDropped = "conntrack.drop"          // packets
	CounterTrackClashed = "conntrack.insert_failed" // packets that were dropped because another had just begun the same connection
	CounterTrackEvicted = "conntrack.early_drop"    // connections that had to make room for new ones
)

// tracked sums the columns of connection tracking that tell what it lost over all CPUs.
func tracked(text string, into map[string]uint64) error {
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if names == nil {
			names = f
			continue
		}
		if len(f) != len(names) {
			return unexpected(line)
		}
		for i, column := range names {
			name := "conntrack." + column
			if !slices.Contains([]string{CounterTrackDropped, CounterTrackClashed, CounterTrackEvicted}, name) {
				continue
			}
			v, err := strconv.ParseUint(f[i], 16, 64)
			if err != nil {
				return err
			}
			into[name] += v
		}
	}
	return nil
}

func unexpected(line string) error {
	return fmt.Errorf("unexpected line %q", strings.TrimRight(line, "\r\n"))
}

// deviceColumns are the columns of /proc/net/dev.
var deviceColumns = [...]string{
	"rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast",
	"tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "tx_collisions", "tx_carrier", "tx_compressed",
}

// eachDevice calls do for each device in /proc/net/dev, which begins with two lines of headings.
func eachDevice(text string, do func(device string, columns []string) error) error {
	for n, line := range slices.Collect(strings.Lines(text)) {
		if n < 2 {
			continue
		}
		device, rest, ok := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if !ok || len(f) < len(deviceColumns) {
			return unexpected(line)
		}
		if err := do(strings.TrimSpace(device), f); err != nil {
			return err
		}
	}
	return nil
}

func interfaces(text string, into map[string]uint64) error {
	return eachDevice(text, func(device string, columns []string) error {
		for i, column := range deviceColumns {
			v, err := strconv.ParseUint(columns[i], 10, 64)
			if err != nil {
				return err
			}
			into[device+"."+column] = v
		}
		return nil
	})
}

// packets adds up the packets that each device has received and sent.
func packets(text string, into map[string]uint64) error {
	return eachDevice(text, func(device string, columns []string) error {
		received, err1 := strconv.ParseUint(columns[1], 10, 64)
		sent, err2 := strconv.ParseUint(columns[9], 10, 64)
		into[device] = received + sent
		return errors.Join(err1, err2)
	})
}

// softnet sums the columns that matter over all CPUs: packets processed, packets
// dropped because a backlog was full, and polls that ran out of budget.
func softnet(text string, into map[string]uint64) error {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return unexpected(line)
		}
		for i, name := range []string{"softnet.processed", "softnet.dropped", "softnet.time_squeeze"} {
			v, err := strconv.ParseUint(f[i], 16, 64)
			if err != nil {
				return err
			}
			into[name] += v
		}
	}
	return nil
}

// Devices lists the network devices of the namespace at path; "" means that of this process.
func Devices(path string) ([]nl.Interface, error) { return in(path, (*nl.NS).Interfaces) }

// Routes returns where every route of the namespace at path leads, by its destination.
func Routes(path string) (map[string]string, error) { return in(path, (*nl.NS).RouteTable) }

// RouteTo returns where this process's namespace sends packets to an address.
func RouteTo(to netip.Addr) (leads string, err error) {
	return in("", func(n *nl.NS) (string, error) { return n.RouteTo(to) })
}

// in calls ask in the network namespace at path.
func in[T any](path string, ask func(*nl.NS) (T, error)) (T, error) {
	found, err := nl.Ask(path, ask)
	return found, wrap.Error(err, "sampler")
}
