package kubeproxy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/platform"
)

// mode is a way in which kube-proxy has the kernel translate addresses.
type mode struct {
	name     string // as --proxy-mode takes it
	programs []daemon.Program
	list     func(six bool) (program string, args []string) // prints the rules of an IP version
	port     string                                         // is there once for each port of a service whose rules are complete
}

var (
	iptables = mode{
		name: "iptables",
		programs: []daemon.Program{
			{Name: "iptables", Get: "apt install iptables", InPath: true}, {Name: "ip6tables", Get: "apt install iptables", InPath: true},
		},
		list: func(six bool) (string, []string) {
			if six {
				return "ip6tables-save", []string{"-t", "nat"}
			}
			return "iptables-save", []string{"-t", "nat"}
		},
		port: " -j DNAT --to-destination ",
	}
	nftables = mode{
		name:     "nftables",
		programs: []daemon.Program{{Name: "nft", Get: "apt install nftables", InPath: true}},
		list: func(six bool) (string, []string) {
			family := "ip"
			if six {
				family = "ip6"
			}
			return "nft", []string{"list", "map", family, "kube-proxy", "service-ips"}
		},
		port: " : goto service-",
	}
)

// perService is how much longer kube-proxy may take for each further service.
const perService = 10 * time.Millisecond

// startProxies runs kube-proxy on every host, and returns when each has written the rules of all services.
func (n *build) startProxies(ctx context.Context, c *kube.Server) ([]*daemon.Daemon, error) {
	ports := n.Topo.Services
	for i := range n.Servers {
		first, last := n.Topo.Ports(i)
		ports += 2 * (last - first + 1) // TCP and UDP
	}
	return n.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		if err := n.ForgetTables(h); err != nil {
			return nil, err
		}
		return daemon.Start(ctx, &n.Stack, h, daemon.Spec{
			Name: kube.Proxy, Path: n.Programs[kube.Proxy], Patience: kube.Patience + time.Duration(n.Topo.Services)*perService, Complaint: kube.Complaint,
			Args: kube.ProxyArgs(c.Config(kube.Admin), h.Name(), n.mode.name),
			Ready: func(ctx context.Context) error {
				for _, six := range []bool{false, true} {
					got, err := n.written(ctx, h, six)
					if err == nil && got < ports {
						err = fmt.Errorf("its rules lead to %d of %d ports of services", got, ports)
					}
					if err != nil {
						return err
					}
				}
				return nil
			},
		})
	})
}

// written returns to how many ports of services the rules of a host lead.
func (n *build) written(ctx context.Context, h *plumb.Host, six bool) (ports int, err error) {
	program, args := n.mode.list(six)
	var out strings.Builder
	if err := nsexec.Run(ctx, h, platform.Command{Path: program, Args: args, Stdout: &out}); err != nil {
		return 0, fmt.Errorf("%s: %w", program, err)
	}
	return strings.Count(out.String(), n.mode.port), nil
}
