package kubeproxy

import (
	"context"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/kube"
)

// startProxies runs kube-proxy on every host, and returns when each has written the rules of all services.
func (n *build) startProxies(ctx context.Context, c *kube.Server) ([]*daemon.Daemon, error) {
	want := served(n.Network)
	return n.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
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
