package kubeproxy

import (
	"context"

	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/kube"
)

// startProxies runs kube-proxy on every host, and returns when each has written the rules of all services that were made.
func (n *build) startProxies(ctx context.Context, c *kube.Server, made []kube.Fixed) ([]*daemon.Daemon, error) {
	want := served(made)
	return n.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		if n.mode.VirtualServers {
			n.Made("IP sets of "+h.Name(), func(ctx context.Context) error { return plumb.RemoveSets(ctx, h, n.Programs["ipset"], "KUBE-") })
			n.Made("virtual servers of "+h.Name(), func(context.Context) error { return nl.RemoveVirtualServers(h.NS) })
			n.MadeDevice(h.NS, "kube-ipvs0")
		}
		if err := n.ForgetTables(h); err != nil {
			return nil, err
		}
		return daemon.Start(ctx, &n.Stack, h, daemon.Spec{
			Name: kube.Proxy, Path: n.Programs[kube.Proxy], Patience: kube.ProxyPatience(n.Topo.Services), Complaint: kube.Complaint,
			Args:  n.mode.Args(c.Config(kube.Admin), h.Name()),
			Ready: func(ctx context.Context) error { return n.mode.Serves(ctx, h, want) },
		})
	})
}
