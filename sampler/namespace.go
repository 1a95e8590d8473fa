package sampler

import (
	"fmt"

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
