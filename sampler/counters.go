package sampler

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Counters reads what the network namespace of this process has counted: SNMP,
// NetStat (with the "Tcp" of TcpRetransSegs in front), every interface and the
// softnet counters of all CPUs. proc is "/proc".
func Counters(proc string) (map[string]uint64, error) {
	return countersOf(filepath.Join(proc, "self", "net"), append(slices.Clone(protocols), table{"dev", interfaces}, table{"softnet_stat", softnet})...)
}

// table is a file of counters below /proc/self/net.
type table struct {
	name string
	read func(io.Reader, map[string]uint64) error
}

// protocols count what happens to packets, whatever the device.
var protocols = []table{{"snmp", pairs}, {"netstat", pairs}, {"snmp6", single}}

func countersOf(dir string, tables ...table) (map[string]uint64, error) {
	all := make(map[string]uint64)
	for _, f := range tables {
		path := filepath.Join(dir, f.name)
		r, err := os.Open(path)
		if f.name == "snmp6" && errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, fmt.Errorf("sampler: %w", err)
		}
		err = f.read(r, all)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("sampler: %s: %w", path, err)
		}
	}
	return all, nil
}

// Delta is what was counted between two readings; zeros are left out. Counters
// that went down (gauges) are left out too, also below zero: the kernel sums parts of
// TcpCurrEstab one after the other, and writes −1 as 2⁶⁴−1.
func Delta(from, to map[string]uint64) map[string]uint64 {
	d := make(map[string]uint64)
	for name, v := range to {
		if v > from[name] && v-from[name] <= math.MaxInt64 {
			d[name] = v - from[name]
		}
	}
	return d
}

// pairs reads lines that come in twos: names and values, each behind a prefix.
func pairs(r io.Reader, into map[string]uint64) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		names := strings.Fields(s.Text())
		if !s.Scan() {
			return errors.New("names without values")
		}
		values := strings.Fields(s.Text())
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
	return s.Err()
}

// single reads lines of a name and a value.
func single(r io.Reader, into map[string]uint64) error {
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) != 2 {
			return fmt.Errorf("unexpected line %q", s.Text())
		}
		v, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return err
		}
		into[f[0]] = v
	}
	return s.Err()
}

// deviceColumns are the columns of /proc/net/dev.
var deviceColumns = [...]string{
	"rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast",
	"tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "tx_collisions", "tx_carrier", "tx_compressed",
}

func interfaces(r io.Reader, into map[string]uint64) error {
	s := bufio.NewScanner(r)
	for n := 0; s.Scan(); n++ {
		if n < 2 {
			continue // two lines of headings
		}
		device, rest, ok := strings.Cut(s.Text(), ":")
		f := strings.Fields(rest)
		if !ok || len(f) < len(deviceColumns) {
			return fmt.Errorf("unexpected line %q", s.Text())
		}
		for i, column := range deviceColumns {
			v, err := strconv.ParseUint(f[i], 10, 64)
			if err != nil {
				return err
			}
			into[strings.TrimSpace(device)+"."+column] = v
		}
	}
	return s.Err()
}

// softnet sums the columns that matter over all CPUs: packets processed, packets
// dropped because a backlog was full, and polls that ran out of budget.
func softnet(r io.Reader, into map[string]uint64) error {
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 3 {
			return fmt.Errorf("unexpected line %q", s.Text())
		}
		for i, name := range []string{"softnet.processed", "softnet.dropped", "softnet.time_squeeze"} {
			v, err := strconv.ParseUint(f[i], 16, 64)
			if err != nil {
				return err
			}
			into[name] += v
		}
	}
	return s.Err()
}
