package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"nettoll/internal/daemon"
	"nettoll/internal/felix"
	"nettoll/internal/flanneld"
	"nettoll/internal/plumb"
	"nettoll/internal/undo"
	"nettoll/record"
)

// cni is what connects the pods of a private cluster.
type cni struct {
	about    string
	programs []daemon.Program
	plugins  map[string]daemon.Program // further CNI plugins, by the names that they must be called by
	// prepare prepares the cluster; nil: there is nothing to do.
	prepare func(c *Cluster, ctx context.Context) error
	// connect connects a node to the others, and returns the MTU of its pods in bytes.
	connect func(n *Node, ctx context.Context, stack *undo.Stack) (mtu int, err error)
	// tunnel returns the device that leads to the pods of other nodes; nil: they are reached by the uplink, without
	// encapsulation.
	tunnel func(six bool) string
	link   string // its kind, as the kernel names it
	wire   string // a filter of its packets on the underlay
	// plugin is the configuration of what connects a pod to its node; nil: CNI's bridge plugin does.
	plugin func(*Node) fields
	// overhead is the largest number of bytes that it takes off the underlay's MTU.
	overhead int
	enforces bool // network policies: otherwise nothing in the cluster looks at them
}

// cnis are the networks of pods that private clusters can have, by name.
var cnis = map[string]cni{
	record.CNIBridge: {
		about:   "CNI bridge",
		connect: func(n *Node, _ context.Context, _ *undo.Stack) (int, error) { return n.Uplink().MTU, n.route() },
	},
	record.CNIFlannel: {
		about: "flannel (VXLAN)", programs: []daemon.Program{flanneld.Program},
		prepare: (*Cluster).admitFlannel, connect: (*Node).flannel,
		link: "vxlan",
		tunnel: func(six bool) string {
			if six {
				return "flannel-v6.1"
			}
			return "flannel.1"
		},
		wire:     "udp dst port 8472", // Linux's port, not IANA's
		overhead: 70,                  // outer IPv6 40, UDP 8, VXLAN 8, inner Ethernet 14
	},
	record.CNICalico: {
		about: "Calico's plugin and felix", programs: append([]daemon.Program{calicoCNI}, felix.Programs...), plugins: map[string]daemon.Program{"calico": calicoCNI},
		prepare: (*Cluster).admitCalico, connect: (*Node).calico, plugin: (*Node).calicoPlugin,
		enforces: true,
	},
}

// cni returns what connects the cluster's pods.
func (c *Cluster) cni() cni { return cnis[cmp.Or(c.o.CNI, record.CNIBridge)] }

// CNI describes what connects the cluster's pods.
func (c *Cluster) CNI() string { return c.cni().about }

// Tunnel returns the device of nodes that leads to the pods of others, and a filter of its packets on the underlay. Both
// are empty if such packets leave by the uplink as they are.
func (c *Cluster) Tunnel(six bool) (device, wire string) {
	if of := c.cni(); of.tunnel != nil {
		return of.tunnel(six), of.wire
	}
	return "", ""
}

// TunnelKind returns the kind of that device, as the kernel names it.
func (c *Cluster) TunnelKind() string { return c.cni().link }

// Bridge returns the bridge of each node that its pods are connected to; empty: packets to and from pods are routed.
func (c *Cluster) Bridge() string {
	if c.cni().plugin == nil {
		return bridge
	}
	return ""
}

// Rules reads felix's rules on a site whose hosts are the nodes; nil: pods have none.
func (c *Cluster) Rules(s *plumb.Site) *felix.Rules {
	if c.cni().plugin == nil {
		return nil
	}
	r := felix.RulesOf(s, c.programs)
	return &r
}

// Overhead returns the largest number of bytes that the network of pods takes off the underlay's MTU.
func (c *Cluster) Overhead() int { return c.cni().overhead }

// flannelUser is flannel's user.
const flannelUser = "flannel"

// admitFlannel gives flannel the rights that its own manifest gives it.
func (c *Cluster) admitFlannel(ctx context.Context) error {
	return c.grant(ctx, flannelUser,
		rule("", []string{"get"}, "pods"), rule("", []string{"get", "list", "watch"}, "nodes"), rule("", []string{"patch"}, "nodes/status"))
}

// rule is a rule of a role: verbs for resources of an API group.
func rule(group string, verbs []string, resources ...string) fields {
	return fields{"apiGroups": []string{group}, "resources": resources, "verbs": verbs}
}

// grant gives a user rights to the whole cluster, in a role of the user's name.
func (c *Cluster) grant(ctx context.Context, user string, rules ...fields) error {
	const group = "rbac.authorization.k8s.io"
	for kind, o := range map[string]fields{
		"clusterroles": {"rules": rules},
		"clusterrolebindings": {
			"roleRef":  fields{"apiGroup": group, "kind": "ClusterRole", "name": user},
			"subjects": []fields{{"apiGroup": group, "kind": "User", "name": user}},
		},
	} {
		o["metadata"] = fields{"name": user}
		if err := c.Server.Ask(ctx, http.MethodPost, "/apis/"+group+"/v1/"+kind, o, nil); err != nil {
			return fmt.Errorf("give %s its rights: %w", user, err)
		}
	}
	return nil
}

// flannel starts flanneld, which makes the devices and routes to the other nodes once these have said where they are.
func (n *Node) flannel(ctx context.Context, stack *undo.Stack) (mtu int, err error) {
	four, six := plumb.Segment(false), plumb.Segment(true)
	config, err := json.Marshal(fields{
		"Network": four, "EnableIPv6": true, "IPv6Network": six, "Backend": fields{"Type": "vxlan"},
	})
	if err != nil {
		return 0, err
	}
	lease, conf := filepath.Join(n.dir, "flannel.env"), filepath.Join(n.dir, "flannel.json")
	if err := os.WriteFile(conf, config, 0o644); err != nil {
		return 0, err
	}
	d, err := daemon.Start(ctx, stack, n.Host, daemon.Spec{
		Name: flanneld.Program.Name, Path: n.cluster.programs[flanneld.Program.Name], Env: []string{"NODE_NAME=" + n.Name()},
		Args: []string{
			"-kube-subnet-mgr", "-kubeconfig-file", n.cluster.Server.Config(flannelUser), "-net-config-path", conf,
			"-iface", n.Uplink().Device, "-subnet-file", lease, "-ip-masq",
		},
		Patience: Patience, Complaint: Complaint,
		Ready: func(context.Context) error {
			mtu, err = flanneld.MTU(lease, n.Index, true)
			return err
		},
	})
	if err != nil {
		return 0, err
	}
	n.daemons = append(n.daemons, d)
	return mtu, nil
}
