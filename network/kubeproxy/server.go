package kubeproxy

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/plumb"
	"nettoll/kube"
)

// startServer runs the API server on the first host, which has the first host's etcd to itself.
func startServer(ctx context.Context, n *plumb.Network, etcd, dir string) (*kube.Server, error) {
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
			first := service(0, portsOf(n.Topo.Ports(0)), nil, n.Servers[0])[0]
			return s.Ask(ctx, http.MethodPost, first.path()+"?dryRun=All", first, nil)
		},
	})
}

// atOnce is how many objects are being made at a time.
const atOnce = 32

// fill makes the objects of which kube-proxy learns: a node for each host, and the services with their
// endpoints.
func fill(ctx context.Context, s *kube.Server, n *plumb.Network) error {
	defer s.Idle()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for o := range objects(n) {
		group.Go(func() error {
			if err := s.Ask(ctx, http.MethodPost, o.path(), o, nil); err != nil {
				return fmt.Errorf("make %s %s: %w", o.Kind, o.Metadata.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}
