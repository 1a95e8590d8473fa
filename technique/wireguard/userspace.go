package wireguard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
)

// sockets is where wireguard-go offers its sockets, for wg(8) and its like.
const sockets = "/var/run/wireguard"

// start runs wireguard-go on a host, which makes the tunnel's device. Both go when it ends.
func (t Technique) start(ctx context.Context, n *plumb.Network, h *plumb.Host) error {
	path, err := t.find()
	if err != nil {
		return err
	}
	socket := sockets + "/" + device(h) + ".sock"
	n.Push(socket, func(context.Context) error { // one that had to be killed leaves it behind
		if err := os.Remove(socket); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	d, err := daemon.Start(ctx, &n.Stack, h, daemon.Spec{
		Name: programName, Path: path, Args: []string{"--foreground", device(h)},
		// With the variable it keeps to itself that the kernel's WireGuard would do.
		Env: []string{"WG_PROCESS_FOREGROUND=1", "LOG_LEVEL=error"},
		Ready: func(context.Context) error {
			return nl.With(h.NS, func(n *nl.NS) error {
				_, err := n.WireGuardPeers(device(h))
				return err
			})
		},
		Complaint: func(line string) bool { return strings.HasPrefix(line, "ERROR:") },
	})
	if err != nil {
		return err
	}
	n.Needed = append(n.Needed, d)
	n.Procs = append(n.Procs, d)
	return nil
}
