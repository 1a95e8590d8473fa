package kubeproxy

import (
	"context"
	"net/http"

	"nettoll/internal/daemon"
	"nettoll/internal/plumb"
	"nettoll/kube"
)

// startServer runs the API server on the first host, whose etcd nothing else uses.
func startServer(ctx context.Context, n *plumb.Network, etcd *daemon.Etcd, dir string) (*kube.Server, error) {
	return kube.StartServer(ctx, &n.Stack, n.Site.Hosts[0], kube.ServerOptions{
		Path: n.Programs[kube.Apiserver], Etcd: etcd, Dir: dir, Services: kube.ServiceRange(),
		Args: []string{
			"--authorization-mode=AlwaysAllow",
			"--disable-admission-plugins=ServiceAccount", // no controller makes any
			"--endpoint-reconciler-type=none",            // its own service has no endpoints: nobody dials it
			// Objects are made as fast as the machine can.
			"--max-requests-inflight=0", "--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false",
		},
		Ready: func(ctx context.Context, s *kube.Server) error {
			first := ofServer(0, n, n.Servers[0]).Objects(namespace, nil)[0]
			return s.Ask(ctx, http.MethodPost, first.In+"?dryRun=All", first.Body, nil)
		},
	})
}

// atOnce is how many objects are being made at a time.
const atOnce = 32
