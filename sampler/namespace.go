package sampler

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
)

// Protocols reads what the protocols of the network namespace at path have counted:
// SNMP and NetStat, by the names of Counters, without its devices.
func Protocols(path string) (all map[string]uint64, err error) {
	err = netns.Do(path, func() error {
		all, err = countersOf("/proc/thread-self/net", protocols...)
		return err
	})
	return all, err
}

// Packets is how many packets each device of the network namespace at path has received and
// sent. It takes a fraction of the time that Devices takes, where there are thousands.
func Packets(path string) (all map[string]uint64, err error) {
	const file = "/proc/thread-self/net/dev"
	var b []byte
	err = netns.Do(path, func() error {
		b, err = os.ReadFile(file)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	all = map[string]uint64{}
	for line := range strings.Lines(string(b)) {
		device, rest, ok := strings.Cut(line, ":")
		f := strings.Fields(rest)
		if !ok {
			continue // a heading
		}
		if len(f) < len(deviceColumns) {
			return nil, fmt.Errorf("sampler: %s: unexpected line %q", file, line)
		}
		received, err1 := strconv.ParseUint(f[1], 10, 64)
		sent, err2 := strconv.ParseUint(f[9], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("sampler: %s: %w", file, err)
		}
		all[strings.TrimSpace(device)] = received + sent
	}
	return all, nil
}

// Devices lists the network devices of the namespace at path.
func Devices(path string) (all []nl.Interface, err error) {
	err = nl.With(path, func(n *nl.NS) error {
		all, err = n.Interfaces()
		return err
	})
	if err != nil {
		err = fmt.Errorf("sampler: %w", err)
	}
	return all, err
}

// Routes says of every route of the namespace at path, by what it is for, where it leads.
func Routes(path string) (all map[string]string, err error) {
	err = nl.With(path, func(n *nl.NS) error {
		all, err = n.RouteTable()
		return err
	})
	if err != nil {
		err = fmt.Errorf("sampler: %w", err)
	}
	return all, err
}

// RouteTo says where this process' namespace sends packets to an address.
func RouteTo(to netip.Addr) (leads string, err error) {
	err = nl.With("", func(n *nl.NS) error {
		leads, err = n.RouteTo(to)
		return err
	})
	if err != nil {
		err = fmt.Errorf("sampler: %w", err)
	}
	return leads, err
}
