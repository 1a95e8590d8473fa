package flannel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/daemon"
	"nettoll/internal/flanneld"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// patience is how long a flanneld may take to write its lease, and all of them to find each other:
// it takes a second, and several on a busy machine.
const patience = 40 * time.Second

// complaint matches an error in klog's format, such as "E1121 19:33:49.123456 …".
var complaint = regexp.MustCompile(`^E\d{4} `)

// startAll runs flanneld on all hosts at once, and returns when each has a lease.
func (b *build) startAll(ctx context.Context) (err error) {
	b.flannelds, err = b.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		return b.start(ctx, h, b.store.URL, b.store.Daemon)
	})
	b.ending()
	if err != nil {
		return err
	}
	b.Watch(b.carries, b.flannelds...)
	return nil
}

// start runs flanneld on a host, with the store at a URL, which needs daemons.
func (b *build) start(ctx context.Context, h *plumb.Host, store string, needs ...*daemon.Daemon) (*daemon.Daemon, error) {
	return daemon.Start(ctx, &b.Stack, h, daemon.Spec{
		Name: flanneld.Program.Name, Path: b.Programs[flanneld.Program.Name], Patience: b.patience, Complaint: complaint.MatchString, Needs: needs,
		Args: []string{
			"-etcd-endpoints", store, "-iface", h.Uplink().Device, "-subnet-file", b.file(h), "-ip-masq=false",
		},
		Env: append(b.forScripts(h), "WIREGUARD_KEY_FILE="+b.secret(h)),
		Ready: func(ctx context.Context) error {
			if _, err := os.Stat(b.file(h)); err != nil {
				return errors.New("it has written no lease")
			}
			return b.families(func(six bool) error { return b.forwards(ctx, h, six) })
		},
	})
}

// secret returns the path of a host's private key for WireGuard.
func (b *build) secret(h *plumb.Host) string { return filepath.Join(b.dir, h.Name()+".key") }

// forwards checks that flanneld has added its rules for packets that the host forwards. It does so
// after writing the lease.
func (b *build) forwards(ctx context.Context, h *plumb.Host, six bool) error {
	return wrap.Error(run(ctx, h, iptables(six), append([]string{"-w", "-C"}, jump...)...), "its rules are missing")
}

// jump is the rule that sends packets to flanneld's own chain.
var jump = []string{"FORWARD", "-m", "comment", "--comment", "flanneld forward", "-j", chain}

const chain = "FLANNEL-FWD"

// iptables returns the program that manages the rules of an IP version.
func iptables(six bool) string {
	if six {
		return "ip6tables"
	}
	return "iptables"
}

// run runs a program on a host to its end.
func run(ctx context.Context, h *plumb.Host, program string, args ...string) error {
	return wrap.Error(nsexec.Run(ctx, h, platform.Command{Path: program, Args: args}), "%s", program)
}

// ending arranges for all flannelds to be stopped at once: each takes more than a second to clean
// up the host. Where the hosts are removed anyway, they are killed instead.
func (b *build) ending() {
	end := func(how func(*daemon.Daemon) error) func(context.Context) error {
		return func(context.Context) error {
			return errors.Join(atonce.Each(-1, b.flannelds, func(_ int, d *daemon.Daemon) error {
				if d == nil {
					return nil
				}
				return how(d)
			})...)
		}
	}
	b.Push("flanneld on all hosts", end(func(d *daemon.Daemon) error { return d.Kill() }))
	b.Made("flanneld on all hosts", end((*daemon.Daemon).Stop))
}

// tidy arranges for the removal of what flanneld leaves on a host that is kept: devices, routes,
// and rules if it had no time to remove them.
func (b *build) tidy(h *plumb.Host) error {
	if err := b.ForgetTables(h); err != nil {
		return err
	}
	b.Made("rules of flanneld on "+h.Name(), func(ctx context.Context) error {
		return b.families(func(six bool) error { return unrule(ctx, h, six) })
	})
	if b.bare() {
		plumb.Routes{Site: b.Site, Families: []bool{false, true}}.Forget(h)
		return nil
	}
	return b.families(func(six bool) error {
		b.MadeDevice(h.NS, b.leads(h, six))
		return nil
	})
}

// unrule removes flanneld's rules, if they exist.
func unrule(ctx context.Context, h *plumb.Host, six bool) error {
	program := iptables(six)
	if run(ctx, h, program, "-w", "-S", chain) != nil {
		return nil
	}
	// The chain may exist without the jump.
	_ = run(ctx, h, program, append([]string{"-w", "-D"}, jump...)...)
	return errors.Join(
		run(ctx, h, program, "-w", "-F", chain),
		run(ctx, h, program, "-w", "-X", chain),
	)
}

// scripts are the commands that flannel's extension backend runs, from its documentation for
// WireGuard except for the device, which is wireguard-go's: the first prints the host's public key
// for the lease, the second sets up the device, the others add and remove other hosts.
var scripts = map[string]string{
	"PreStartupCommand": `umask 077; "$WG" genkey | tee "$WG_KEY" | "$WG" pubkey`,
	"PostStartupCommand": fmt.Sprintf(`set -e; "$WG" set "$WG_DEVICE" listen-port %d private-key "$WG_KEY"; `, wireguardPort) +
		`"$IP" address add "${SUBNET%/*}/32" dev "$WG_DEVICE"; "$IP" link set "$WG_DEVICE" mtu "$WG_MTU" up; ` +
		`"$IP" route add "$NETWORK" dev "$WG_DEVICE"`,
	"SubnetAddCommand":    fmt.Sprintf(`read -r key; "$WG" set "$WG_DEVICE" peer "$key" endpoint "$PUBLIC_IP:%d" allowed-ips "$SUBNET"`, wireguardPort),
	"SubnetRemoveCommand": `read -r key; "$WG" set "$WG_DEVICE" peer "$key" remove`,
}

// forScripts returns the scripts' environment variables, which differ from host to host.
func (b *build) forScripts(h *plumb.Host) []string {
	if !b.userspace {
		return nil
	}
	return []string{
		"WG=" + b.Programs["wg"], "IP=" + b.Programs["ip"], "WG_KEY=" + b.secret(h), "WG_DEVICE=" + h.Tunnel,
		"WG_MTU=" + strconv.Itoa(wireguardMTU(h)),
	}
}

// wireguardPort is also the port of flannel's wireguard backend; its device for IPv6 uses the next.
const wireguardPort = 51820

// wireguardPrefix begins the names of wireguard-go's devices.
const wireguardPrefix = "flannel-wg"

// wireguardOverhead is the overhead that flannel assumes for WireGuard, in bytes: outer IPv6 40,
// UDP 8, WireGuard 32.
const wireguardOverhead = 80

func wireguardMTU(h *plumb.Host) int { return h.Uplink().MTU - wireguardOverhead }
