package plumb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
)

// Start starts a daemon on all hosts at once, since each may become ready only together with the
// others. The first failure ends the wait for all. The daemons are in the order of the hosts, nil for
// those that did not become ready.
func (s *Site) Start(ctx context.Context, start func(context.Context, *Host) (*daemon.Daemon, error)) ([]*daemon.Daemon, error) {
	all := make([]*daemon.Daemon, len(s.Hosts))
	wait, ctx := errgroup.WithContext(ctx)
	for i, h := range s.Hosts {
		wait.Go(func() (err error) {
			all[i], err = start(ctx, h)
			return err
		})
	}
	return all, wait.Wait()
}

// wireguardSockets is where wireguard-go creates its sockets, for wg(8) and similar programs.
const wireguardSockets = "/var/run/wireguard"

// StartWireGuardGo runs the program wireguard-go on a host. It makes a device and carries the packets
// that go through it; when it ends, both are gone. Hosts of the lab share the directory of its
// socket, which has the name of the device, so the device's name must differ between hosts.
func (n *Network) StartWireGuardGo(ctx context.Context, h *Host, device string) error {
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
