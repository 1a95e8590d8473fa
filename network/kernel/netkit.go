package kernel

import (
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/network"
)

// Netkit returns the driver of a pair of netkit devices between each client and its server, as Veth is of veth pairs.
func Netkit() network.Driver {
	return pairs("netkit", "a pair of netkit devices straight between two containers, as veth, but without Ethernet headers", plumb.Netkit, (*nl.NS).AddNetkit)
}
