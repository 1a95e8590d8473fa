package nl

import (
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

// ovsHeader precedes the attributes of all Open vSwitch messages: the index of a datapath, 0 if it is
// given by name.
type ovsHeader [4]byte

// Len implements nl.NetlinkRequestData.
func (ovsHeader) Len() int { return len(ovsHeader{}) }

// Serialize implements nl.NetlinkRequestData.
func (h ovsHeader) Serialize() []byte { return h[:] }

// RemoveDatapath removes an Open vSwitch datapath from the namespace at path, with all its ports. It
// is not an error if there is none. A datapath cannot be removed as a device.
func RemoveDatapath(path, name string) error {
	return netns.Do(path, func() error {
		family, err := genericFamily(datapathFamily)
		if err == nil {
			req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
			req.AddData(&nl.Genlmsg{Command: datapathDelete, Version: datapathVersion})
			req.AddData(ovsHeader{})
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
	virtualServerFlush   = 17 // IPVS_CMD_FLUSH
)

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
