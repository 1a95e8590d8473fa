package plumb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
)

// wireguardSockets is where wireguard-go offers its sockets, for wg(8) and its like.
const wireguardSockets = "/var/run/wireguard"

// StartWireGuardGo runs the program wireguard-go at path on a host, which makes a device.
// Both go when it ends. Hosts of the lab share the folder of its socket, which is named
// after the device: its name has to differ from host to host.
func (s *Site) StartWireGuardGo(ctx context.Context, h *Host, path, device string) (*daemon.Daemon, error) {
	socket := wireguardSockets + "/" + device + ".sock"
	s.Push(socket, func(context.Context) error { // one that had to be killed leaves it behind
		if err := os.Remove(socket); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
		Name: "wireguard-go", Path: path, Args: []string{"--foreground", device},
		// With the variable it keeps to itself that the kernel's WireGuard would do.
		Env: []string{"WG_PROCESS_FOREGROUND=1", "LOG_LEVEL=error"},
		Ready: func(context.Context) error {
			return nl.With(h.NS, func(n *nl.NS) error {
				_, err := n.WireGuardPeers(device)
				return err
			})
		},
		Complaint: func(line string) bool { return strings.HasPrefix(line, "ERROR:") },
	})
}
