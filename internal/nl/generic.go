package nl

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/wrap"
)

// From linux/openvswitch.h.
const (
	datapathFamily  = "ovs_datapath"
	datapathVersion = 2
	datapathDelete  = 2 // OVS_DP_CMD_DEL
	datapathName    = 1 // OVS_DP_ATTR_NAME
)

// ovsHeader is the size of what precedes the attributes of all Open vSwitch messages: the index of a datapath, 0 if it is
// given by name.
const ovsHeader = 4

// header is what precedes the attributes of a request of its kind.
type header []byte

// Len implements nl.NetlinkRequestData.
func (h header) Len() int { return len(h) }

// Serialize implements nl.NetlinkRequestData.
func (h header) Serialize() []byte { return h }

// RemoveDatapath removes an Open vSwitch datapath from the namespace at path, with all its ports. It
// is not an error if there is none. A datapath cannot be removed as a device.
func RemoveDatapath(path, name string) error {
	return netns.Do(path, func() error {
		family, err := genericFamily(datapathFamily)
		if err == nil {
			req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
			req.AddData(&nl.Genlmsg{Command: datapathDelete, Version: datapathVersion})
			req.AddData(make(header, ovsHeader))
			req.AddData(nl.NewRtAttr(datapathName, nl.ZeroTerminated(name)))
			_, err = ask(func() ([][]byte, error) { return req.Execute(unix.NETLINK_GENERIC, 0) })
		}
		err = unless(err, unix.ENODEV, unix.ENOENT)
		return wrap.Error(err, "remove datapath %s", name)
	})
}

// From linux/ip_vs.h.
const (
	virtualServerFamily  = "IPVS"
	virtualServerVersion = 1
	virtualServerGet     = 4  // IPVS_CMD_GET_SERVICE
	virtualServerGetEnd  = 8  // IPVS_CMD_GET_DEST
	virtualServerFlush   = 17 // IPVS_CMD_FLUSH

	virtualServerIn   = 1 // IPVS_CMD_ATTR_SERVICE, with the attributes below
	virtualServerIP   = 1 // IPVS_SVC_ATTR_AF
	virtualServerAddr = 3 // IPVS_SVC_ATTR_ADDR: 16 bytes, of which IPv4 has the first four
	virtualServerPort = 4 // IPVS_SVC_ATTR_PORT, in network order; the protocol is before the address
)

// VirtualServers returns the addresses and ports of the virtual servers of IPVS that have an endpoint, of one IP version in the
// namespace at path, each as often as it has protocols. /proc/net/ip_vs lacks some of them if it is longer than a page and other
// namespaces have virtual servers, too: the kernel counts these when it goes on, and not when it begins (ip_vs_info_array in Linux
// 6.1).
func VirtualServers(path string, six bool) (all []netip.AddrPort, err error) {
	err = netns.Do(path, func() error {
		family, err := genericFamily(virtualServerFamily)
		if err != nil {
			return err
		}
		dump := func(command uint8, of ...nl.NetlinkRequestData) ([][]byte, error) {
			return ask(func() ([][]byte, error) {
				req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
				req.AddData(&nl.Genlmsg{Command: command, Version: virtualServerVersion})
				for _, data := range of {
					req.AddData(data)
				}
				return req.Execute(unix.NETLINK_GENERIC, 0)
			})
		}
		servers, err := dump(virtualServerGet)
		if err != nil {
			return err
		}
		for _, message := range servers {
			at, name, err := virtualServer(message)
			if err != nil {
				return err
			}
			if at.Addr().Is6() != six {
				continue
			}
			ends, err := dump(virtualServerGetEnd, name)
			if err != nil {
				return err
			}
			if len(ends) > 0 {
				all = append(all, at)
			}
		}
		return nil
	})
	return all, wrap.Error(err, "list virtual servers")
}

// virtualServer returns the address and port of a virtual server that a message describes, and the attribute that names it in
// requests. Those that are known by a mark of the firewall have no address.
func virtualServer(message []byte) (at netip.AddrPort, name *nl.RtAttr, err error) {
	outer, err := nl.ParseRouteAttr(message[min(nl.SizeofGenlmsg, len(message)):])
	if err != nil || len(outer) == 0 {
		return at, nil, fmt.Errorf("a virtual server without attributes (%w)", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	attrs, err := nl.ParseRouteAttr(outer[0].Value)
	if err != nil {
		return at, nil, err
	}
	name = nl.NewRtAttr(virtualServerIn|unix.NLA_F_NESTED, nil)
	var family uint16
	var addr netip.Addr
	for _, a := range attrs {
		switch kind := a.Attr.Type; {
		case kind > virtualServerPort:
			continue
		case kind == virtualServerIP && len(a.Value) >= 2:
			family = binary.NativeEndian.Uint16(a.Value)
		case kind == virtualServerAddr && len(a.Value) == 16:
			if addr = netip.AddrFrom16([16]byte(a.Value)); family == unix.AF_INET {
				addr = netip.AddrFrom4([4]byte(a.Value[:4]))
			}
		case kind == virtualServerPort && len(a.Value) >= 2:
			at = netip.AddrPortFrom(addr, binary.BigEndian.Uint16(a.Value))
		}
		name.AddRtAttr(int(a.Attr.Type), a.Value)
	}
	return at, name, nil
}

// RemoveVirtualServers removes all virtual servers of IPVS from the namespace at path.
func RemoveVirtualServers(path string) error {
	return netns.Do(path, func() error {
		family, err := genericFamily(virtualServerFamily)
		if err == nil {
			req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
			req.AddData(&nl.Genlmsg{Command: virtualServerFlush, Version: virtualServerVersion})
			_, err = ask(func() ([][]byte, error) { return req.Execute(unix.NETLINK_GENERIC, 0) })
		}
		return wrap.Error(err, "remove virtual servers")
	})
}

// HasFamily returns nil if the kernel has a generic netlink family in the namespace at path, and
// otherwise an error that says why not. The kernel loads the family's module if it can.
func HasFamily(path, name string) error {
	return netns.Do(path, func() error {
		_, err := genericFamily(name)
		return err
	})
}

func genericFamily(name string) (*netlink.GenlFamily, error) {
	f, err := ask(func() (*netlink.GenlFamily, error) { return netlink.GenlFamilyGet(name) })
	return f, wrap.Error(err, "find generic netlink family %s", name)
}
