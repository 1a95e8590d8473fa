package nl

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// Of linux/openvswitch.h.
const (
	datapathFamily  = "ovs_datapath"
	datapathVersion = 2
	datapathDelete  = 2 // OVS_DP_CMD_DEL
	datapathName    = 1 // OVS_DP_ATTR_NAME
)

// ovsHeader is in front of the attributes of all messages of Open vSwitch: the index of a
// datapath, 0 where it is given by name.
type ovsHeader [4]byte

// Len implements nl.NetlinkRequestData.
func (ovsHeader) Len() int { return len(ovsHeader{}) }

// Serialize implements nl.NetlinkRequestData.
func (h ovsHeader) Serialize() []byte { return h[:] }

// RemoveDatapath removes a datapath of Open vSwitch from the namespace at path, with all
// its ports; one that is gone already is no error. As a device it cannot be removed.
func RemoveDatapath(path, name string) error {
	return netns.Do(path, func() error {
		err := again(func() error {
			family, err := netlink.GenlFamilyGet(datapathFamily)
			if err != nil {
				return err
			}
			req := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_ACK)
			req.AddData(&nl.Genlmsg{Command: datapathDelete, Version: datapathVersion})
			req.AddData(ovsHeader{})
			req.AddData(nl.NewRtAttr(datapathName, nl.ZeroTerminated(name)))
			_, err = req.Execute(unix.NETLINK_GENERIC, 0)
			return err
		})
		if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove datapath %s: %w", name, err)
		}
		return nil
	})
}
