package plumb

import (
	"fmt"

	"nettoll/internal/nl"
)

// PortOf returns the name of the other end of a node's device, which must be a port of a bridge on its host.
func PortOf(n *Node, bridge string) (port string, err error) {
	inner, err := nl.Ask(n.NS, func(in *nl.NS) (nl.Interface, error) { return in.Interface(n.Device) })
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.Name(), err)
	}
	err = nl.With(n.Host.NS, func(in *nl.NS) error {
		var master nl.Interface // without a bridge, its index is 0, as that of no device
		to := n.Host.Name()
		if bridge != "" {
			var err error
			if master, err = in.Interface(bridge); err != nil {
				return err
			}
			to = "the bridge " + bridge
		}
		all, err := in.Interfaces()
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.Kind == "veth" && inner.Kind == "veth" && d.Index == inner.Peer && d.Master == master.Index {
				port = d.Name
				return nil
			}
		}
		return fmt.Errorf("no veth pair leads from %s to %s", n.Name(), to)
	})
	return port, err
}
