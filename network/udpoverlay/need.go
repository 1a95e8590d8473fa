package udpoverlay

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/platform"
)

// trySocket opens a packet socket on a device of a namespace made for that.
func trySocket(ctx context.Context) error {
	made, err := netns.New(ctx, 1, func() error {
		if err := nl.With("", func(n *nl.NS) error { return n.Up("lo") }); err != nil {
			return err
		}
		f, err := nl.Packet("lo")
		if err == nil {
			err = f.Close()
		}
		return err
	})
	for _, ns := range made {
		ns.Close()
	}
	if err == nil {
		return nil
	}
	missing := platform.Unsupported{Feature: "packet sockets", Option: "CONFIG_PACKET", Remedy: "modprobe af_packet as root, or use a kernel that has CONFIG_PACKET", Err: err}
	if errors.Is(err, unix.ENOPROTOOPT) {
		missing.Option, missing.Remedy = "Linux 4.20", "use a newer kernel: this one cannot keep a packet socket from hearing what it sends"
	}
	return &missing
}
