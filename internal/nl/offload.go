package nl

import (
	"fmt"

	"github.com/safchain/ethtool"

	"nettoll/internal/netns"
)

// txChecksum is the kernel's name for what "ethtool -K DEVICE tx off" turns off for a
// veth device.
const txChecksum = "tx-checksum-ip-generic"

// CompleteChecksums makes the kernel compute the checksums of what leaves through a
// device of the namespace at path, and with them do the segmentation. Else they are left
// to hardware that a virtual device does not have, and a program which takes the frames
// gets wrong ones.
func CompleteChecksums(path, device string) error {
	return netns.Do(path, func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("ethtool: %w", err)
		}
		defer tool.Close()
		if err := tool.Change(device, map[string]bool{txChecksum: false}); err != nil {
			return fmt.Errorf("turn %s of %s off: %w", txChecksum, device, err)
		}
		return nil
	})
}

// Offload says whether what the kernel calls an offload is on for a device of the namespace
// at path.
func Offload(path, device, name string) (on bool, err error) {
	err = netns.Do(path, func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("ethtool: %w", err)
		}
		defer tool.Close()
		state, err := tool.Features(device)
		if err != nil {
			return fmt.Errorf("offloads of %s: %w", device, err)
		}
		on = state[name]
		return nil
	})
	return on, err
}
