package kubeproxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"nettoll/internal/atonce"
	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/kube"
	"nettoll/record"
)

// portion is how many services kube-proxy learns of at a time. For each service whose rules are new, the kernel walks through all
// changes that the transaction has made so far (__nft_set_trans_bind in net/netfilter/nf_tables_api.c): 8,000 services at once take
// it 24 s, in which it lets little else run, and 2,000 take 0.6 s (Linux 6.18). Tests change it.
var portion = 2000

// serve makes services, runs kube-proxy on every host, and returns when each has written the rules of all of them.
func (n *build) serve(ctx context.Context, c *kube.Server, all []kube.Fixed) (proxies []*daemon.Daemon, err error) {
	defer c.Idle()
	made := 0
	for part := range slices.Chunk(all, portion) {
		if err := paused(proxies, func() error { return c.MakeAll(ctx, atOnce, objects(part)) }); err != nil {
			return nil, err
		}
		made += len(part)
		want := served(all[:made])
		if proxies == nil {
			proxies, err = n.startProxies(ctx, c, want)
		} else {
			err = n.inForce(ctx, proxies, want)
		}
		if err != nil {
			return nil, err
		}
	}
	return proxies, nil
}

// paused does something while kube-proxy rests: it would write rules every second.
func paused(proxies []*daemon.Daemon, do func() error) error {
	return errors.Join(record.Try(proxies, (*daemon.Daemon).Pause), do(), record.Try(proxies, (*daemon.Daemon).Resume))
}

// startProxies runs kube-proxy on every host, and returns when each has written the rules of the services that want has.
func (n *build) startProxies(ctx context.Context, c *kube.Server, want map[netip.Addr]int) ([]*daemon.Daemon, error) {
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
			Needs: []*daemon.Daemon{c.Daemon},
			Args:  n.mode.Args(c.Config(kube.Admin), h.Name()),
			Ready: n.ready(c, h, want),
		})
	})
}

// anew is how long kube-proxy is given before it is told once more to write all its rules: it writes rules once a second.
const anew = time.Second

// onServices is called when a host first has the rules of its services. Tests change it.
var onServices = func(*plumb.Host) error { return nil }

// ready returns what returns nil once the kube-proxy of a host has written all rules. The zone of its node is changed until it has:
// of all labels, kube-proxy notices that one in every version, and nothing else here asks for it.
func (n *build) ready(c *kube.Server, h *plumb.Host, want map[netip.Addr]int) func(context.Context) error {
	var labels int
	var last time.Time
	first := sync.OnceValue(func() error { return onServices(h) })
	return func(ctx context.Context) error {
		if err := n.mode.Serves(ctx, h, want); err != nil {
			return err
		}
		if err := first(); err != nil {
			return err
		}
		missing := n.mode.DropsOthers(ctx, h)
		if missing == nil || time.Since(last) < anew {
			return missing
		}
		labels, last = labels+1, time.Now()
		label := map[string]any{"metadata": map[string]any{"labels": map[string]string{"topology.kubernetes.io/zone": "rules-" + strconv.Itoa(labels)}}}
		return errors.Join(missing, c.Ask(ctx, http.MethodPatch, node(h).Path(), label, nil))
	}
}

// inForce returns when all hosts have the rules of the services that want has.
func (n *build) inForce(ctx context.Context, proxies []*daemon.Daemon, want map[netip.Addr]int) error {
	return atonce.All(ctx, -1, proxies, func(ctx context.Context, i int, p *daemon.Daemon) error {
		err := daemon.Until(ctx, kube.ProxyPatience(n.Topo.Services), func(ctx context.Context) error { return n.mode.Serves(ctx, n.Site.Hosts[i], want) }, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		return nil
	})
}
