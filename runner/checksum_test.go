package runner_test

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/record"
)

// TestNetworkThatTakesPacketsOutOfTheKernel replaces a bridge by a program that copies frames
// unchanged. Senders leave checksums to their devices.
func TestNetworkThatTakesPacketsOutOfTheKernel(t *testing.T) {
	copied := func(t *testing.T, n *network.Network) {
		h := n.Hosts[0]
		in(t, h, func(n *nl.NS) error {
			for _, port := range []string{"veth0", "veth1"} {
				l, err := n.Link(port)
				if err != nil {
					return err
				}
				if err := n.LinkSetNoMaster(l); err != nil {
					return err
				}
			}
			return nil
		})
		a, b := frames(t, h, "veth0"), frames(t, h, "veth1")
		forward(t, a, b)
		forward(t, b, a)
	}
	c := record.Cell{Hosts: 1, Family: 4, Workload: record.TCPStream}
	tr := measured(t, kernel.Bridge(), c, copied)
	for _, want := range []string{"threw away ", " segments that arrived with wrong checksums: the sender leaves checksums to its device", " (seen as: "} {
		if tr.Status != record.Failed || !strings.Contains(tr.Reason, want) {
			t.Errorf("%s with reason %q, which does not say %q", tr.Status, tr.Reason, want)
		}
	}
	if remedy := "turn the offload off in the containers (ethtool -K eth0 tx off)"; tr.Remedy != remedy || !strings.HasSuffix(said(tr, record.FoundChecksums), remedy) {
		t.Errorf("remedy is %q; %+v", tr.Remedy, tr.Warnings)
	}
	c.Offload = record.OffloadOff // the remedy
	tr = measured(t, kernel.Bridge(), c, copied)
	if got := said(tr, record.FoundChecksums); got != "" || strings.Contains(tr.Reason, "checksum") {
		t.Errorf("without offloads: %s, %s, %s", tr.Status, tr.Reason, got)
	}
	if tr.Counters["h1c1/TcpInSegs"] == 0 || tr.Counters["h1c1/TcpInCsumErrors"] != 0 {
		t.Errorf("without offloads: %s, %s", tr.Status, tr.Reason)
	}
}

// frames returns a socket that receives all frames of a host's device.
func frames(t *testing.T, h platform.Host, device string) *os.File {
	t.Helper()
	var fd int
	err := netns.Do(h.Facts().NetNS, func() (err error) {
		const all = unix.ETH_P_ALL
		protocol := binary.NativeEndian.Uint16([]byte{all >> 8, all & 0xff})
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(protocol)); err != nil {
			return err
		}
		var index int
		err = nl.With("", func(n *nl.NS) error {
			l, err := n.Link(device)
			if err == nil {
				index = l.Attrs().Index
			}
			return err
		})
		if err != nil {
			return err
		}
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: index}))
	})
	iferr.Fatal(t, err)
	f := os.NewFile(uintptr(fd), device)
	t.Cleanup(func() { f.Close() })
	return f
}

// forward copies frames until the sockets are closed.
func forward(t *testing.T, from, to *os.File) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<17)
		for {
			n, err := from.Read(buf)
			if errors.Is(err, os.ErrClosed) {
				return
			}
			if err != nil { // the device is gone, or was down
				time.Sleep(time.Millisecond)
				continue
			}
			_, _ = to.Write(buf[:n]) // a frame that is too large is lost
		}
	}()
	t.Cleanup(func() { from.Close(); <-done })
}
