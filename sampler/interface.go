package sampler

import (
	"nettoll/internal/nl"
)

// Interfaces lists the network devices of the namespace of this process.
func Interfaces() (all []nl.Interface, err error) {
	err = nl.With("", func(n *nl.NS) error {
		all, err = n.Interfaces()
		return err
	})
	return all, err
}
