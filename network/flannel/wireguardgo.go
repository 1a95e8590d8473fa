package flannel

import (
	"context"
	"fmt"
	"strconv"

	"nettoll/internal/plumb"
)

// scripts are what flannel's extension backend runs, as its documentation has them for
// WireGuard, but for the device, which is wireguard-go's: the first gives the host's
// public key for the lease, the second sets the device up, the others take other hosts
// in and out.
var scripts = map[string]string{
	"PreStartupCommand": `umask 077; "$WG" genkey | tee "$WG_KEY" | "$WG" pubkey`,
	"PostStartupCommand": fmt.Sprintf(`set -e; "$WG" set "$WG_DEVICE" listen-port %d private-key "$WG_KEY"; `, wireguardPort) +
		`"$IP" address add "${SUBNET%/*}/32" dev "$WG_DEVICE"; "$IP" link set "$WG_DEVICE" mtu "$WG_MTU" up; ` +
		`"$IP" route add "$NETWORK" dev "$WG_DEVICE"`,
	"SubnetAddCommand":    fmt.Sprintf(`read -r key; "$WG" set "$WG_DEVICE" peer "$key" endpoint "$PUBLIC_IP:%d" allowed-ips "$SUBNET"`, wireguardPort),
	"SubnetRemoveCommand": `read -r key; "$WG" set "$WG_DEVICE" peer "$key" remove`,
}

// forScripts is what differs from host to host for the scripts.
func (b *build) forScripts(h *plumb.Host) []string {
	if !b.userspace {
		return nil
	}
	return []string{
		"WG=" + b.wg, "IP=" + b.ip, "WG_KEY=" + b.secret(h), "WG_DEVICE=" + wireguardDevice(h),
		"WG_MTU=" + strconv.Itoa(wireguardMTU(h)),
	}
}

// wireguardDevice is wireguard-go's device on a host. Its name is in that of a socket in a
// folder that all hosts of the lab share, so it differs from host to host.
func wireguardDevice(h *plumb.Host) string { return fmt.Sprintf("flannel-wg%d", h.Index+1) }

// wireguardOverhead is what flannel takes WireGuard's for, in bytes: outer IPv6 40, UDP 8,
// WireGuard 32.
const wireguardOverhead = 80

func wireguardMTU(h *plumb.Host) int { return h.Uplink().MTU - wireguardOverhead }

// startWireGuard runs wireguard-go on a host, where the backend is one in user space.
func (b *build) startWireGuard(ctx context.Context, h *plumb.Host) error {
	if !b.userspace {
		return nil
	}
	d, err := b.StartWireGuardGo(ctx, h, b.wireguardGo, wireguardDevice(h))
	if err != nil {
		return err
	}
	b.Needed = append(b.Needed, d)
	b.Carry(d)
	return nil
}
