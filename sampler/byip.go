package sampler

import (
	"path/filepath"

	"nettoll/internal/nl"
)

// Counted is a device with its counters.
type Counted struct {
	nl.Interface
	IP uint64 `json:",omitzero"` // see network.Count.IP; 0 if it is not asked for, or not known
}

// count reads a device. proc is "/proc".
func (d Device) count(proc string) (c Counted, err error) {
	var octets uint64
	known := false
	if d.ByIP { // before the devices, so that lo has counted all that is subtracted
		octets, known = received(proc)
	}
	c.Interface, err = nl.Ask(d.Space, func(n *nl.NS) (nl.Interface, error) { return n.Interface(d.Name) })
	if err != nil || !known {
		return c, err
	}
	all, err := Devices(d.Space)
	if err == nil {
		c.IP = c.byIP(octets, all)
	}
	return c, err
}

// received returns how many bytes IP has received in this process's network namespace, headers of IP included.
func received(proc string) (octets uint64, known bool) {
	all, err := countersOf(filepath.Join(proc, "self", "net"), table{"netstat", pairs, true}, table{"snmp6", single, true})
	v4, known := all["IpExtInOctets"]
	return v4 + all["Ip6InOctets"], known && err == nil
}

// byIP returns Counted.IP, from what IP has received in the namespace and all devices there. A packet reaches IP only by a device
// of its namespace that is up. So what has not come over lo has come by the device, if no other is up. lo counts a header more of
// each packet than IP does; IP never counts more of a packet than the device that it came by, if that counts it.
func (c Counted) byIP(octets uint64, all []nl.Interface) uint64 {
	for _, other := range all {
		switch {
		case other.Index == c.Index:
			continue
		case other.Up && other.Name != "lo":
			return 0
		}
		octets -= min(octets, other.InBytes)
	}
	return c.Bytes - c.InBytes + octets
}
