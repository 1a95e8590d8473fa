package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/beside"
	"nettoll/internal/cgroup"
	"nettoll/internal/daemon"
	"nettoll/internal/netns"
	"nettoll/internal/plumb"
	"nettoll/internal/program"
	"nettoll/internal/undo"
	"nettoll/platform"
	"nettoll/record"
)

// Further programs of Kubernetes.
const (
	controllers = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	kubelet     = "kubelet"
)

// needed are the programs of a cluster.
var needed = []daemon.Program{
	daemon.EtcdProgram, Built(Apiserver), Built(controllers), Built(scheduler), Built(kubelet), Built(Proxy),
	{Name: "containerd", Get: platform.Install("containerd")}, {Name: "ctr", Get: platform.Install("containerd")},
	{Name: "containerd-shim-runc-v2", Get: platform.Install("containerd"), InPath: true}, {Name: "runc", Get: platform.Install("runc"), InPath: true},
	{Name: "iptables", Get: platform.Install("iptables"), InPath: true}, {Name: "ip6tables", Get: platform.Install("iptables"), InPath: true},
	{Name: "unshare", Get: platform.Install("util-linux"), InPath: true}, {Name: "nsenter", Get: platform.Install("util-linux"), InPath: true},
	{Name: "mount", Get: platform.Install("mount"), InPath: true},
}

// Programs returns the names of programs that --tool-path can name.
func Programs() []string {
	return record.Found(needed, func(p daemon.Program) (string, bool) { return p.Name, !p.InPath })
}

// Available returns an error if private clusters cannot be started here.
func Available(paths program.Paths) error { return available(paths, cni{}) }

// Connectable returns an error if the pods of private clusters cannot be connected in the way that a value of Options.CNI
// names.
func Connectable(paths program.Paths, name string) error { return available(paths, cnis[name]) }

func available(paths program.Paths, with cni) error {
	_, err := daemon.Find(paths, append(slices.Clone(needed), with.programs...)...)
	if err == nil {
		_, err = plugins()
	}
	if err == nil && (os.Geteuid() != 0 || netns.OneUser()) {
		err = &platform.Unsupported{Feature: "a private Kubernetes cluster", Option: "root on this machine itself", Remedy: "run as root"}
	}
	if err == nil {
		err = daemon.Available()
	}
	return err
}

// usedPlugins are the CNI plugins of a node.
var usedPlugins = []string{"loopback", "bridge", "host-local", "portmap"}

// plugins returns the first of the usual folders of CNI plugins that has all of a node's: containerd searches
// one only.
func plugins() (string, error) {
	var folders []string
	if own, err := beside.Find("cni"); err == nil {
		folders = append(folders, own)
	}
	folders = append(folders, "/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
	for _, folder := range folders {
		if !slices.ContainsFunc(usedPlugins, func(name string) bool { _, err := exec.LookPath(filepath.Join(folder, name)); return err != nil }) {
			return folder, nil
		}
	}
	return "", &platform.Unsupported{
		Feature: "a private Kubernetes cluster", Option: "the CNI plugins " + strings.Join(usedPlugins, ", ") + ", in one of " + strings.Join(folders, ", "),
		Remedy: platform.Install("containernetworking-plugins") + ", or make tools",
	}
}

// Options describe a cluster.
type Options struct {
	// Run is the id of the run, by which its control groups are named.
	Run   string
	Paths program.Paths
	// Image is the root filesystem of AgentImage, with nettoll as /nettoll; nil: there is no such image.
	Image filesystem
	// CNI is what connects the pods, such as record.CNIFlannel; empty: record.CNIBridge.
	CNI string
}

// Cluster is a cluster on whose nodes pods are made: a private one, whose nodes are hosts of the lab, the first of them with
// the control plane; or the user's.
type Cluster struct {
	Server *Server // of a private cluster
	Nodes  []*Node

	api       *API
	own       *Own    // the cluster of the user's; nil: it is private
	keeper    *keeper // that the network on it belongs to
	namespace string
	place     int              // of the network among those that stand on the cluster at once, from 0
	prefix    string           // of the names of objects
	besides   map[int]*Cluster // the same cluster for other networks, by their places
	look      look
	pause     time.Duration // between questions to the API server
	requests  int           // at a time, where there are many

	pods     []*Pod
	services []*service
	further  []Object // further services
	policies []Object
	policing *policing          // shared with all networks on the cluster
	ports    map[netip.Addr]int // numbers of ports by the addresses of services; 0 for those that are gone; see ProxyMode.Serves

	o        Options
	number   int32 // among the clusters of this process
	programs map[string]string
	plugins  string
	client   clientCertificate
	daemons  []*daemon.Daemon // of the control plane
	stack    undo.Stack
}

// How often, and with how many requests at a time, private clusters are asked. They serve nobody else.
const (
	privatePause    = 50 * time.Millisecond
	privateRequests = 32
)

// proxyMode is that of private clusters.
var proxyMode = IPTables

// Users besides Admin.
const (
	controllersUser = "system:kube-controller-manager"
	schedulerUser   = "system:kube-scheduler"
	proxyUser       = "system:kube-proxy"
)

func kubeletUser(n *Node) string { return "system:node:" + n.Name() }

// begun is how many clusters this process has started.
var begun atomic.Int32

// StartTime is how long Start may take: the control plane, what connects pods, and the nodes start one after the other.
const StartTime = 3 * Patience

// Start starts a cluster. Everything in the lab's namespaces is removed with them, whatever happens.
func Start(ctx context.Context, hosts []platform.Host, o Options) (*Cluster, error) {
	c := &Cluster{o: o, number: begun.Add(1), namespace: "default", look: privateLook(), pause: privatePause, requests: privateRequests, ports: map[netip.Addr]int{}, policing: &policing{}}
	if err := available(o.Paths, c.cni()); err != nil {
		return nil, err
	}
	for i, h := range hosts {
		c.Nodes = append(c.Nodes, &Node{Host: h, Index: i, cluster: c, published: &hostPorts{}})
	}
	if err := c.begin(ctx); err != nil {
		return nil, c.stack.Abandon(ctx, fmt.Errorf("kubernetes: private cluster: %w", err))
	}
	return c, nil
}

func (c *Cluster) begin(ctx context.Context) (err error) {
	if c.programs, err = daemon.Find(c.o.Paths, append(slices.Clone(needed), c.cni().programs...)...); err != nil {
		return err
	}
	if c.plugins, err = plugins(); err != nil {
		return err
	}
	dir, err := daemon.State(&c.stack)
	if err != nil {
		return err
	}
	if c.client, err = newClientCertificate(dir); err != nil {
		return err
	}
	if err := c.reserve(); err != nil {
		return err
	}
	starting, within := errgroup.WithContext(ctx)
	starting.Go(func() error { return c.controlPlane(within, dir) })
	for _, n := range c.Nodes {
		starting.Go(func() error { return n.runtime(within, &c.stack) })
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	if prepare := c.cni().prepare; prepare != nil {
		if err := prepare(c, ctx); err != nil {
			return err
		}
	}
	joining, within := errgroup.WithContext(ctx)
	for _, n := range c.Nodes {
		joining.Go(func() error { return n.join(within, &c.stack) })
	}
	joining.Go(func() error { // pods are refused while there is no service account
		return daemon.Until(within, Patience, func(ctx context.Context) error {
			return c.Server.Ask(ctx, http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", nil, nil)
		}, c.daemons...)
	})
	return joining.Wait()
}

// reserve prepares the hosts: they forward packets, and the lab knows of the cluster's control group.
func (c *Cluster) reserve() error {
	group := cgroup.Of(c.o.Run)
	for _, n := range c.Nodes {
		if leaves := n.Facts().Leaves; leaves != nil {
			if err := leaves(group); err != nil {
				return fmt.Errorf("name the control group to the lab: %w", err)
			}
		}
		// Answers of a service on the bridge of its client must be translated back.
		for _, key := range append([]string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"}, netns.BridgeNetfilter...) {
			err := netns.SetSysctl(n.Facts().NetNS, key, "1")
			if errors.Is(err, os.ErrNotExist) {
				return &platform.Unsupported{Feature: "a node of Kubernetes", Option: "the kernel parameter " + key, Remedy: plumb.LoadBridgeNetfilter, Err: err}
			}
			if err != nil {
				return err
			}
		}
	}
	// After the lab knows of it: this process may be killed any moment.
	if f := cgroup.Hold(c.o.Run); f != nil { // as long as the cluster can make containers
		c.stack.Push("the lock of its control group", func(context.Context) error {
			err := f.Close()
			_, _ = cgroup.Sweep(c.o.Run) // what cannot be removed yet, the end of the lab removes
			return err
		})
	}
	return nil
}

// controlPlane starts etcd, the API server, the controllers and the scheduler on the first node.
func (c *Cluster) controlPlane(ctx context.Context, dir string) error {
	first := c.Nodes[0]
	etcd, err := daemon.StartEtcd(ctx, &c.stack, c.programs["etcd"], first.Host, dir)
	if err != nil {
		return err
	}
	users := []User{{Name: controllersUser}, {Name: schedulerUser}, {Name: proxyUser}, {Name: flannelUser}, {Name: calicoUser}}
	for _, n := range c.Nodes {
		users = append(users, User{kubeletUser(n), []string{"system:nodes"}})
	}
	c.Server, err = StartServer(ctx, &c.stack, first.Host, ServerOptions{
		Path: c.programs[Apiserver], Etcd: etcd, Dir: dir, Services: ServiceRange(), Users: users,
		Args: []string{
			"--authorization-mode=Node,RBAC", "--allow-privileged=true", "--service-node-port-range=" + NodePorts,
			"--kubelet-preferred-address-types=InternalIP", "--kubelet-client-certificate=" + c.client.certificate, "--kubelet-client-key=" + c.client.file,
		},
	})
	if err != nil {
		return err
	}
	c.api = c.Server.API
	managing, within := errgroup.WithContext(ctx)
	daemons := make([]*daemon.Daemon, 2)
	for i, s := range []struct{ program, user, port string }{{controllers, controllersUser, "10257"}, {scheduler, schedulerUser, "10259"}} {
		args := []string{
			"--kubeconfig=" + c.Server.Config(s.user), "--leader-elect=false",
			"--bind-address=127.0.0.1", "--secure-port=" + s.port, "--cert-dir=" + filepath.Join(dir, s.program),
		}
		if s.program == controllers {
			args = append(args, "--service-account-private-key-file="+c.Server.Account, "--root-ca-file="+c.Server.Trust, "--use-service-account-credentials")
		}
		managing.Go(func() (err error) {
			daemons[i], err = daemon.Start(within, &c.stack, first.Host, daemon.Spec{
				Name: s.program, Path: c.programs[s.program], Args: args, Patience: Patience, Complaint: ends,
			})
			return err
		})
	}
	c.daemons = append(c.daemons, etcd.Daemon, c.Server.Daemon)
	err = managing.Wait()
	c.daemons = append(c.daemons, slices.DeleteFunc(daemons, func(d *daemon.Daemon) bool { return d == nil })...)
	return err
}

// ends reports whether a line of the log of controllers, the scheduler or a kubelet says that the program ends. Other errors do not
// count: they are about objects that others have just changed, and a kubelet logs many as it starts and whenever a pod ends.
func ends(line string) bool { return strings.Contains(line, "command failed") }

// Daemons returns the programs of the cluster.
func (c *Cluster) Daemons() []*daemon.Daemon {
	all := slices.Clone(c.daemons)
	for _, n := range c.Nodes {
		all = append(all, n.daemons...)
	}
	return all
}

// Fault returns an error if one of the programs of a private cluster has ended, or the keeper on a cluster of the user's.
func (c *Cluster) Fault(ctx context.Context) error {
	if c.own != nil {
		return c.keeper.fault(ctx)
	}
	return record.Try(c.Daemons(), (*daemon.Daemon).Fault)
}

// Beside returns the same cluster for another network that stands there at the same time, with names of its own for pods
// and services, and addresses of services. Places count from 0, which is that of c.
func (c *Cluster) Beside(place int) *Cluster {
	if b := c.besides[place]; b != nil {
		return b
	}
	b := &Cluster{
		Server: c.Server, api: c.api, own: c.own, keeper: c.keeper, namespace: c.namespace, look: c.look, pause: c.pause, requests: c.requests, ports: map[netip.Addr]int{}, policing: c.policing,
		place: place, prefix: c.prefix + placed(place), o: c.o, number: c.number, programs: c.programs, daemons: c.daemons,
	}
	for _, n := range c.Nodes {
		beside := *n
		beside.cluster, beside.next = b, 0
		b.Nodes = append(b.Nodes, &beside)
	}
	if c.besides == nil {
		c.besides = map[int]*Cluster{}
	}
	c.besides[place] = b
	return b
}

// placed returns a part of the names of a network's objects, by which they differ from those of networks that stand at the
// same time.
func placed(place int) string {
	if place == 0 {
		return ""
	}
	return fmt.Sprintf("beside%d-", place)
}

// Place returns the network's place among those that stand on the cluster at once.
func (c *Cluster) Place() int { return c.place }

// Stop ends the cluster, and everything that runs on it.
func (c *Cluster) Stop(ctx context.Context) error { return c.stack.Close(ctx) }
