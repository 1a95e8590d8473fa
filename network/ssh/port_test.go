package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/ssh/sshtest"
)

// TestPortInUse has a program on a machine that listens at the port of the tunnel. The network is not built, and the error names
// the port and the machine. Once the port is free, it is built.
func TestPortInUse(t *testing.T) {
	lan := sshtest.Start(t, platform.Underlay{}, sshtest.Machine{}, sshtest.Machine{})
	p := onMachines(t)
	for name, port := range map[string]int{"vxlan": 4789, "geneve": 6081, "wireguard": 51820} {
		t.Run(name, func(t *testing.T) {
			var taken net.PacketConn
			iferr.Fatal(t, netns.Do(lan.Hosts[1].Facts().NetNS, func() (err error) {
				taken, err = net.ListenUDP("udp", &net.UDPAddr{Port: port})
				return err
			}))
			defer taken.Close()
			n, err := driver(t, name).Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p)
			if err == nil {
				n.Close(context.Background())
			}
			var lacks *platform.Unsupported
			if errors.As(err, &lacks) && strings.HasPrefix(lacks.Option, "CONFIG_") {
				t.Skip(err)
			}
			want := fmt.Sprintf("%s on h2 (ssh b): not supported here (needs UDP port %d, which is in use there)", name, port)
			if lacks == nil || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			taken.Close()
			if n, err = driver(t, name).Connect(t.Context(), network.Topology{Hosts: 2, Servers: 1, Clients: 1}, p); err != nil {
				t.Fatalf("the port is free again: %v", err)
			}
			iferr.Error(t, n.Close(t.Context()))
		})
	}
}
