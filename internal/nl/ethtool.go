package nl

import (
	"fmt"

	"github.com/safchain/ethtool"

	"nettoll/internal/netns"
	"nettoll/internal/wrap"
)

// txChecksum is the kernel's name of the feature that "ethtool -K DEVICE tx off" turns off for a veth
// device.
const txChecksum = "tx-checksum-ip-generic"

// Ethtool calls fn with ethtool's interface to the network namespace at path; "" means the current one.
func Ethtool(path string, fn func(*ethtool.Ethtool) error) error {
	return netns.Do(path, func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return fmt.Errorf("ethtool: %w", err)
		}
		defer tool.Close()
		grow(16)
		return hold(10, func() error { return fn(tool) })
	})
}

// The library gives the kernel the addresses of variables on the stack as numbers, which do not follow when Go's runtime moves the
// stack: answers were lost. A stack moves if it has to grow, or if less than a quarter of it is used while garbage is collected.
// So it grows beforehand, and hold uses more than a quarter of it meanwhile.

const frame = 32 << 10 // bytes of the stack that each level of grow and hold takes

//go:noinline
func grow(levels int) {
	var room [frame]byte
	touch(&room)
	if levels > 1 {
		grow(levels - 1)
	}
	touch(&room)
}

//go:noinline
func hold(levels int, fn func() error) (err error) {
	var room [frame]byte
	touch(&room)
	if levels > 1 {
		err = hold(levels-1, fn)
	} else {
		err = fn()
	}
	touch(&room)
	return err
}

//go:noinline
func touch(room *[frame]byte) { room[0]++ }

// CompleteChecksums makes the kernel compute the checksums, and do the segmentation, of packets that
// leave through a device of the namespace at path. Otherwise both are left to hardware that a virtual
// device does not have, and a program that receives the frames gets wrong ones.
func CompleteChecksums(path, device string) error {
	return Ethtool(path, func(tool *ethtool.Ethtool) error {
		return wrap.Error(tool.Change(device, map[string]bool{txChecksum: false}), "turn %s of %s off", txChecksum, device)
	})
}

// Offload reports whether an offload, by the kernel's name, is on for a device of the namespace at
// path.
func Offload(path, device, name string) (on bool, err error) {
	err = Ethtool(path, func(tool *ethtool.Ethtool) error {
		state, err := tool.Features(device)
		on = state[name]
		return wrap.Error(err, "offloads of %s", device)
	})
	return on, err
}
