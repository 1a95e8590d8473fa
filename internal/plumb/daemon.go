package plumb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"nettoll/internal/atonce"
	"nettoll/internal/daemon"
	"nettoll/internal/nl"
)

// Start starts a daemon on all hosts at once, since each may become ready only together with the
// others. The first failure ends the wait for all. The daemons are in the order of the hosts, nil for
// those that did not become ready.
func (s *Site) Start(ctx context.Context, start func(context.Context, *Host) (*daemon.Daemon, error)) ([]*daemon.Daemon, error) {
	all := make([]*daemon.Daemon, len(s.Hosts))
	return all, atonce.All(ctx, -1, s.Hosts, func(ctx context.Context, i int, h *Host) (err error) {
		all[i], err = start(ctx, h)
		return err
	})
}

// wireguardSockets is where wireguard-go creates its sockets, for wg(8) and similar programs.
const wireguardSockets = "/var/run/wireguard"

// tunnels are the names of the devices that wireguard-go has on hosts of all networks that stand: all share the directory of its
// sockets, which have these names.
var tunnels sync.Map

// NameTunnel chooses the name of wireguard-go's device on a host: the prefix and the number of the host and, if another network that
// stands has that one, a further number.
func (n *Network) NameTunnel(h *Host, prefix string) {
	name := fmt.Sprintf("%s%d", prefix, h.Index+1)
	h.Tunnel = name
	for further := 2; ; further++ {
		if _, taken := tunnels.LoadOrStore(h.Tunnel, true); !taken {
			break
		}
		h.Tunnel = fmt.Sprintf("%s-%d", name, further)
	}
	n.Push("name of "+h.Tunnel, func(context.Context) error {
		tunnels.Delete(h.Tunnel)
		return nil
	})
}

// StartWireGuardGo runs the program wireguard-go on a host. It makes the device of the name that NameTunnel has chosen, and carries
// the packets that go through it; when it ends, both are gone.
func (n *Network) StartWireGuardGo(ctx context.Context, h *Host) error {
	device := h.Tunnel
	socket := wireguardSockets + "/" + device + ".sock"
	n.Push(socket, func(context.Context) error { // it is left behind if the program had to be killed
		if err := os.Remove(socket); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	d, err := daemon.Start(ctx, &n.Stack, h, daemon.Spec{
		Name: "wireguard-go", Path: n.Programs["wireguard-go"], Args: []string{"--foreground", device},
		// With this variable it does not suggest the kernel's WireGuard instead.
		Env: []string{"WG_PROCESS_FOREGROUND=1", "LOG_LEVEL=error"},
		Ready: func(context.Context) error {
			return nl.With(h.NS, func(n *nl.NS) error {
				_, err := n.WireGuardPeers(device)
				return err
			})
		},
		Complaint: func(line string) bool { return strings.HasPrefix(line, "ERROR:") },
	})
	if err == nil {
		n.Watch(true, d)
	}
	return err
}
