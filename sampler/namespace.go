package sampler

import (
	"fmt"
	"net/netip"

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
