package calico

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/plumb"
)

// patience is how long felix may take, which reads all of etcd and writes hundreds of rules.
const patience = 50 * time.Second

// startFelix runs felix on every host, and returns when each has written the routes and
// rules of its containers.
func (n *build) startFelix(ctx context.Context, etcd string) ([]*daemon.Daemon, error) {
	s := n.Site
	// Felix must not write where Calico keeps what its CNI plugin is to know, on a machine
	// that has it.
	if err := daemon.Hide(&s.Stack, "/var/lib/calico"); err != nil {
		return nil, err
	}
	for _, h := range s.Hosts {
		if err := n.tidy(h); err != nil {
			return nil, err
		}
	}
	return s.Start(ctx, func(ctx context.Context, h *plumb.Host) (*daemon.Daemon, error) {
		return daemon.Start(ctx, &s.Stack, h, daemon.Spec{
			Name: "felix", Path: n.programs.felix, Patience: patience,
			Env: []string{
				"DATASTORE_TYPE=etcdv3", "ETCD_ENDPOINTS=" + etcd,
				"FELIX_DATASTORETYPE=etcdv3", "FELIX_ETCDENDPOINTS=" + etcd, "FELIX_FELIXHOSTNAME=" + h.Name(),
				"FELIX_LOGSEVERITYSCREEN=WARNING", "FELIX_LOGFILEPATH=none", "FELIX_LOGSEVERITYSYS=none",
				// Tables of nf_tables can be told apart from those that were there before.
				"FELIX_IPTABLESBACKEND=nft",
				"FELIX_USAGEREPORTINGENABLED=false", "FELIX_HEALTHENABLED=false",
				"FELIX_BPFENABLED=false", "FELIX_XDPENABLED=false",
			},
			Ready:     func(ctx context.Context) error { return n.written(ctx, h) },
			Complaint: complaint,
		})
	})
}

// complaint says whether felix logs an error. It does also when it cannot clean up, after
// a felix that was there before, what none has made: programs of BPF and connections
// of addresses that nobody had.
func complaint(line string) bool {
	return strings.Contains(line, "[ERROR]") && !strings.Contains(line, "bpftool") && !strings.Contains(line, "conntrack")
}

// written says what a host still lacks of what felix is to write.
func (n *build) written(ctx context.Context, h *plumb.Host) error {
	if err := n.routed(h); err != nil {
		return err
	}
	for _, node := range h.Nodes {
		on, err := netns.Sysctl(h.NS, "net/ipv4/conf/"+node.Port+"/proxy_arp")
		if err == nil && on != "1" {
			err = fmt.Errorf("%s does not answer ARP for the gateway of %s", node.Port, node.Name())
		}
		if err != nil {
			return err
		}
	}
	for _, six := range []bool{false, true} {
		passed, err := n.passed(ctx, h, six)
		if err != nil {
			return err
		}
		for _, node := range h.Nodes {
			if _, err := passed.sum(chains(node)); err != nil {
				return err
			}
		}
		if err := n.ruled(h, passed); err != nil {
			return err
		}
	}
	return nil
}

// routed says which of felix's routes a host lacks.
func (n *build) routed(h *plumb.Host) error {
	devices, err := h.RouteDevices()
	if err != nil {
		return err
	}
	for _, node := range h.Nodes {
		for _, a := range []netip.Addr{node.Addr4, node.Addr6} {
			if devices[plumb.Single(a)] != node.Port {
				return fmt.Errorf("no route to %s of %s", a, node.Name())
			}
		}
	}
	if n.tech.way != vxlan {
		return nil
	}
	return n.routes.Reach(h)
}

// families says of each IP version that it carries whether it is IPv6.
func (n *build) families() []bool {
	if n.tech.six() {
		return []bool{false, true}
	}
	return []bool{false}
}
