package kube

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/felix"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/undo"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// Calico's CNI plugin makes a veth pair for each pod, whose end on the node has no bridge, and felix writes routes and rules
// for it. Both have the API server as their datastore. Addresses are those that the node has for its pods, from CNI's
// host-local; so there is no need for Calico's own allocation of addresses, nor for BGP: routes between nodes are plain ones.

// calicoCNI is Calico's CNI plugin.
var calicoCNI = daemon.Program{Name: "calico-cni", Get: "make tools"}

// calicoUser is the user of felix and of the plugin.
const calicoUser = "calico"

// calicoGroup is the API group of Calico's own objects, and calicoKinds are those that felix watches, by their plural; true
// means that they are in namespaces. Felix does not begin while the API does not know one of them.
const calicoGroup = "crd.projectcalico.org"

var calicoKinds = map[string]bool{
	"BGPConfiguration": false, "ClusterInformation": false, "FelixConfiguration": false, "GlobalNetworkPolicy": false, "GlobalNetworkSet": false,
	"HostEndpoint": false, "IPPool": false, "NetworkPolicy": true, "NetworkSet": true,
}

// plural returns the plural of a kind, as paths of the API have it.
func plural(kind string) string {
	name := strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		return stem + "ies"
	}
	return name + "s"
}

// admitCalico gives Calico its rights, its kinds of objects, and the one object without which its plugin connects no pod. The
// kinds have no schemas, since there is nothing to check: nobody makes such objects but nettoll.
func (c *Cluster) admitCalico(ctx context.Context) error {
	if err := daemon.Hide(&c.stack, felix.State); err != nil {
		return err
	}
	read := []string{"get", "list", "watch"}
	err := c.grant(ctx, calicoUser,
		rule("", read, "nodes", "namespaces", "serviceaccounts", "pods", "services", "endpoints"),
		rule("", []string{"patch"}, "pods/status", "nodes/status"),
		rule("discovery.k8s.io", read, "endpointslices"),
		rule("networking.k8s.io", read, "networkpolicies"),
		rule(calicoGroup, read, "*"),
	)
	if err != nil {
		return err
	}
	for kind, namespaced := range calicoKinds {
		scope := "Cluster"
		if namespaced {
			scope = "Namespaced"
		}
		name := plural(kind)
		err := c.Server.Ask(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fields{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": fields{"name": name + "." + calicoGroup},
			"spec": fields{
				"group": calicoGroup, "scope": scope,
				"names": fields{"kind": kind, "listKind": kind + "List", "plural": name, "singular": strings.ToLower(kind)},
				"versions": []fields{{
					"name": "v1", "served": true, "storage": true,
					"schema": fields{"openAPIV3Schema": fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
			},
		}, nil)
		if err != nil {
			return fmt.Errorf("make the kind %s of Calico: %w", kind, err)
		}
	}
	served := "/apis/" + calicoGroup + "/v1/"
	err = daemon.Until(ctx, Patience, func(ctx context.Context) error { // the API server serves new kinds after a moment
		for kind := range calicoKinds {
			if err := c.Server.Ask(ctx, http.MethodGet, served+plural(kind), nil, nil); err != nil {
				return fmt.Errorf("list objects of the kind %s: %w", kind, err)
			}
		}
		return nil
	}, c.daemons...)
	if err != nil {
		return err
	}
	const kind = "ClusterInformation"
	err = c.Server.Ask(ctx, http.MethodPost, served+plural(kind), fields{
		"apiVersion": calicoGroup + "/v1", "kind": kind, "metadata": fields{"name": "default"}, "spec": fields{"datastoreReady": true},
	}, nil)
	return wrap.Error(err, "tell Calico that its datastore is ready")
}

// status is the folder in which felix says which pods have their rules. It makes the folder once it has read its datastore, and
// chooses the name.
func (n *Node) status() string { return filepath.Join(n.dir, "endpoint-status") }

// calico starts felix, and gives the node routes to the others.
func (n *Node) calico(ctx context.Context, stack *undo.Stack) (mtu int, err error) {
	// A host answers ARP for the gateway of pods only if it has a route to it, which need not lead there. Elsewhere that is
	// the default route.
	err = nl.With(n.Facts().NetNS, func(in *nl.NS) error { return in.LinkRoute(plumb.Single(plumb.ProxyGateway), n.Uplink().Device) })
	if err != nil {
		return 0, err
	}
	if err := n.route(); err != nil {
		return 0, err
	}
	spec := felix.Spec(n.cluster.programs[felix.Program.Name], n.Name(),
		"DATASTORE_TYPE=kubernetes", "FELIX_DATASTORETYPE=kubernetes", "KUBECONFIG="+n.cluster.Server.Config(calicoUser),
		"USE_POD_CIDR=true", // the node says which addresses its pods have
		"FELIX_ENDPOINTSTATUSPATHPREFIX="+filepath.Dir(n.status()),
		"FELIX_DEFAULTENDPOINTTOHOSTACTION=ACCEPT", // as in Calico's own manifest
	)
	spec.Needs = []*daemon.Daemon{n.cluster.Server.Daemon}
	spec.Ready = func(context.Context) error {
		if _, err := os.Stat(n.status()); err != nil { // without it, the plugin would wait in vain
			return err
		}
		return felix.Tabled(n.Name(), n.Facts().NetNS)
	}
	d, err := daemon.Start(ctx, stack, n.Host, spec)
	if err != nil {
		return 0, err
	}
	n.daemons, n.felix = append(n.daemons, d), d
	return n.Uplink().MTU, nil
}

// Rest has felix pause on all nodes until Wake is called: it wakes hundreds of times a second even if nothing is sent, by which
// networks elsewhere would have other figures. No network may stand on the cluster.
func (c *Cluster) Rest(ctx context.Context) error {
	return record.Try(c.Nodes, func(n *Node) error {
		if n.felix == nil {
			return nil
		}
		// Otherwise the next pods, which have the same names, would be connected before they have rules.
		err := daemon.Until(ctx, forgetting, n.forgotten, n.felix)
		if err == nil {
			err = n.felix.Pause()
		}
		return wrap.Error(err, "kubernetes: %s", n.felix)
	})
}

// Wake has felix go on.
func (c *Cluster) Wake() error {
	return record.Try(c.Nodes, func(n *Node) error {
		if n.felix == nil {
			return nil
		}
		return wrap.Error(n.felix.Resume(), "kubernetes")
	})
}

// forgetting is how long felix may take to remove what it has written for pods that are gone.
const forgetting = 30 * time.Second

// forgotten returns an error if felix says that a pod has its rules.
func (n *Node) forgotten(context.Context) error {
	left, err := os.ReadDir(n.status())
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("it still has rules of %s", left[0].Name())
	}
	return err
}

// ruledWithin is how long the plugin waits for felix to write the rules of a pod.
const ruledWithin = 30 // s

// calicoPlugin is the plugin's configuration.
func (n *Node) calicoPlugin() fields {
	return fields{
		"type": "calico", "datastore_type": "kubernetes", "nodename": n.Name(), "nodename_file_optional": true, "mtu": n.mtu,
		"log_level": "error", "policy": fields{"type": "k8s"}, "kubernetes": fields{"kubeconfig": n.cluster.Server.Config(calicoUser)},
		"policy_setup_timeout_seconds": ruledWithin, "endpoint_status_dir": n.status(),
		"ipam": n.hostLocal(nil),
	}
}
