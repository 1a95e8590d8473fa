package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"nettoll/docker/rootfs"
	"nettoll/internal/await"
	"nettoll/internal/cgroup"
	"nettoll/internal/daemon"
	"nettoll/internal/nl"
	"nettoll/internal/nsexec"
	"nettoll/internal/plumb"
	"nettoll/internal/undo"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// Node is a node of a cluster: a host of the lab, or one of the user's.
type Node struct {
	platform.Host
	Index  int
	As     string     // its name in a cluster of the user's
	Claims Claims     // of the CNI plugin, in a cluster of the user's
	Not    string     // if As is empty: the name, in that cluster, of a node that it must not be
	Agent  *Container // in the network of a node of the user's; nil: there is none

	cluster    *Cluster
	dir        string   // its files
	env        []string // of containerd and kubelet
	groups     []string
	containerd *daemon.Daemon
	daemons    []*daemon.Daemon
	felix      *daemon.Daemon // one of them; nil: it has none
	mtu        int            // of its pods, in bytes
	published  *hostPorts     // of a private cluster, shared with networks beside
	next       int            // number of the last container
}

// PodMTU returns the MTU of the node's pods in bytes, in a private cluster.
func (n *Node) PodMTU() int { return n.mtu }

// bridge is the bridge of a node's pods, as CNI's bridge plugin calls it.
const bridge = "cni0"

// socket is that of the container runtime.
func (n *Node) socket() string { return filepath.Join(n.dir, "containerd.sock") }

// group is the control group of the node's pods. Kubelet kills what it finds there and does not know, so nodes of
// different clusters share none.
func (n *Node) group() string {
	return fmt.Sprintf("%s/cluster%d-%s", cgroup.Of(n.cluster.o.Run), n.cluster.number, n.Name())
}

// system is the control group of the node's own programs.
func (n *Node) system() string { return n.group() + "-system" }

// runtime starts containerd and gives it the images.
func (n *Node) runtime(ctx context.Context, stack *undo.Stack) (err error) {
	if n.dir, err = daemon.State(stack); err != nil {
		return err
	}
	if n.env, err = daemon.Temporary(n.dir); err != nil {
		return err
	}
	if err := errors.Join(n.configure(), n.makeGroups()); err != nil {
		return err
	}
	stack.Push("processes of "+n.Name(), func(ctx context.Context) error { return n.end(ctx) })
	const first = `mkdir /var/lib/kubelet; exec "$@"`
	path, args, err := apart.Command(n.dir, "sh", append([]string{"-c", first, "sh"},
		n.grouped(n.cluster.programs["containerd"], "--config", filepath.Join(n.dir, "containerd.toml"))...)...)
	if err != nil {
		return err
	}
	n.containerd, err = daemon.Start(ctx, stack, n.Host, daemon.Spec{
		Name: "containerd", Path: path, Args: args, Env: n.env, Dir: "/",
		Patience: Patience, Grace: grace, Complaint: containerdComplaint,
		Ready: func(context.Context) error {
			c, err := net.Dial("unix", n.socket())
			if err == nil {
				c.Close()
			}
			return err
		},
	})
	if err != nil {
		return err
	}
	n.daemons = append(n.daemons, n.containerd)
	if err := n.importImage(ctx, pauseImage, pause{}, pausePath); err != nil {
		return err
	}
	if n.cluster.o.Image == nil {
		return nil
	}
	return n.importImage(ctx, AgentImage, n.cluster.o.Image, rootfs.AgentPath, "agent")
}

// apart is what the programs of a node find in mounts of their own: no files of the machine's own Kubernetes and containerd. The
// parameters are those that kubelet would set for the whole machine (pkg/kubelet/cm, setupKernelTunables).
var apart = daemon.Apart{
	Empty: []string{"/var/lib", "/var/log", "/run/netns", "/run/containerd"},
	Tunables: map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	},
}

// grouped returns the command line that runs a program in the control group of the node's programs.
func (n *Node) grouped(program string, args ...string) []string {
	const join = `for g in $1; do echo $$ >"$g/cgroup.procs"; done; shift; exec "$@"`
	return append([]string{"sh", "-c", join, "sh", strings.Join(n.groups, " "), program}, args...)
}

// makeGroups makes the node's control groups in every hierarchy: neither kubelet nor containerd does.
func (n *Node) makeGroups() error {
	for _, root := range cgroup.Roots() {
		for _, name := range []string{cgroup.Of(n.cluster.o.Run), n.group(), n.system()} {
			path := filepath.Join(root, name)
			if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := inherit(path); err != nil {
				return err
			}
		}
		n.groups = append(n.groups, filepath.Join(root, n.system()))
	}
	return nil
}

// inherit lets processes be in a control group: in version 1 a group has no CPUs and no memory nodes at
// first, and in version 2 its parent must hand controllers down.
func inherit(path string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		have, err := os.ReadFile(filepath.Join(path, file))
		if err != nil || len(strings.TrimSpace(string(have))) > 0 {
			continue
		}
		all, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
		if err != nil || len(strings.TrimSpace(string(all))) == 0 {
			continue // version 2, where an empty list means that of the parent
		}
		if err := os.WriteFile(filepath.Join(path, file), all, 0); err != nil {
			return err
		}
	}
	parent := filepath.Dir(path)
	all, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return nil // version 1
	}
	for _, c := range strings.Fields(string(all)) {
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+c), 0) // kubelet says which it misses
	}
	return nil
}

// endTime bounds the wait for a node's processes to end once they are killed.
const endTime = 30 * time.Second

// end kills all processes of the node's control groups: containers, and the shims that containerd leaves
// behind.
func (n *Node) end(ctx context.Context) error {
	return await.Until(ctx, endTime, 5*time.Millisecond, func(context.Context) (missing, err error) {
		for _, root := range cgroup.Roots() {
			for _, group := range []string{n.group(), n.system()} {
				if cgroup.Kill(filepath.Join(root, group)) > 0 {
					missing = fmt.Errorf("processes of the node %s did not end within %v of being killed", n.Name(), endTime)
				}
			}
		}
		return missing, nil
	})
}

// containerdComplaint reports whether a line of containerd's log is about a fault.
func containerdComplaint(line string) bool {
	return strings.Contains(line, "level=fatal") || strings.HasPrefix(line, "containerd: ")
}

// importImage gives the container runtime an image.
func (n *Node) importImage(ctx context.Context, name string, root filesystem, entrypoint ...string) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(archive(w, name, root, entrypoint...)) }()
	defer r.Close()
	err := nsexec.Run(ctx, n.Host, platform.Command{
		Path: n.cluster.programs["ctr"], Args: []string{"--address", n.socket(), "--namespace", "k8s.io", "images", "import", "-"},
		Stdin: r, Stdout: io.Discard,
	})
	return wrap.Error(err, "import the image %s on %s", name, n.Name())
}

// join starts kubelet and kube-proxy, and returns when the node is ready for pods. The node's object is made before that,
// with the addresses of its pods, since kubelet waits for a network. kubelet takes the object over.
func (n *Node) join(ctx context.Context, stack *undo.Stack) error {
	c := n.cluster
	blocks := []string{plumb.Subnet(n.Index, false).String(), plumb.Subnet(n.Index, true).String()}
	err := c.Server.Ask(ctx, http.MethodPost, "/api/v1/nodes", fields{
		"apiVersion": "v1", "kind": "Node", "spec": fields{"podCIDR": blocks[0], "podCIDRs": blocks},
		// kubelet would add this annotation; flanneld ends on a node that has none.
		"metadata": fields{"name": n.Name(), "annotations": fields{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
	}, nil)
	if err != nil {
		return fmt.Errorf("make the node %s: %w", n.Name(), err)
	}
	if err := n.connect(ctx, stack); err != nil {
		return err
	}
	four, six := n.Uplink().Addr4.Addr(), n.Uplink().Addr6.Addr()
	kubelet, err := daemon.Start(ctx, stack, n.Host, daemon.Spec{
		Name: kubelet, Path: "nsenter",
		Args: append([]string{"--mount=/proc/" + strconv.Itoa(n.containerd.PID()) + "/ns/mnt"}, n.grouped(c.programs[kubelet],
			"--config="+filepath.Join(n.dir, "kubelet.json"), "--kubeconfig="+c.Server.Config(kubeletUser(n)),
			"--hostname-override="+n.Name(), "--node-ip="+four.String()+","+six.String(), "--cert-dir="+filepath.Join(n.dir, "kubelet"),
		)...),
		Env: n.env, Patience: Patience, Grace: grace, Complaint: ends,
		Ready: n.ready,
	})
	if err != nil {
		return err
	}
	proxy, err := daemon.Start(ctx, stack, n.Host, daemon.Spec{
		Name: Proxy, Path: c.programs[Proxy], Args: proxyMode.Args(c.Server.Config(proxyUser), n.Name()),
		Patience: Patience, Complaint: Complaint,
		Ready: func(ctx context.Context) error {
			_, err := daemon.Ask(ctx, n.Facts().NetNS, http.MethodGet, "http://127.0.0.1:10256/healthz", nil, nil)
			return err
		},
	})
	if err != nil {
		return err
	}
	n.daemons = append(n.daemons, kubelet, proxy)
	return nil
}

// ready returns nil once the cluster says that the node is ready.
func (n *Node) ready(ctx context.Context) error {
	var is struct {
		Spec struct {
			Taints []struct{ Key string }
		}
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := n.cluster.Server.Ask(ctx, http.MethodGet, "/api/v1/nodes/"+n.Name(), nil, &is); err != nil {
		return err
	}
	for _, c := range is.Status.Conditions {
		if c.Type == "Ready" {
			switch {
			case c.Status != "True":
				return errors.New(c.Message)
			case len(is.Spec.Taints) > 0: // controllers remove them; until then it gets no pods
				return errors.New("it has the taint " + is.Spec.Taints[0].Key)
			}
			return nil
		}
	}
	return errors.New("it has not said anything yet")
}

// configure writes the node's files.
func (n *Node) configure() error {
	for _, dir := range []string{"/run/netns", "/run/containerd"} { // of the lab
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	config, err := json.MarshalIndent(n.kubeletConfig(), "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.Mkdir(filepath.Join(n.dir, "cni"), 0o755),
		n.gatherPlugins(),
		os.WriteFile(filepath.Join(n.dir, "kubelet.json"), config, 0o644),
		os.WriteFile(filepath.Join(n.dir, "containerd.toml"), []byte(n.containerdConfig()), 0o644),
	)
}

// plugins is the folder of the node's CNI plugins.
func (n *Node) plugins() string {
	if len(n.cluster.cni().plugins) == 0 {
		return n.cluster.plugins
	}
	return filepath.Join(n.dir, "plugins")
}

// gatherPlugins makes that folder, if plugins are needed that are not in that of the others.
func (n *Node) gatherPlugins() error {
	further, dir := n.cluster.cni().plugins, n.plugins()
	if len(further) == 0 {
		return nil
	}
	err := os.Mkdir(dir, 0o755)
	for _, name := range usedPlugins {
		err = errors.Join(err, os.Symlink(filepath.Join(n.cluster.plugins, name), filepath.Join(dir, name)))
	}
	for name, program := range further {
		err = errors.Join(err, os.Symlink(n.cluster.programs[program.Name], filepath.Join(dir, name)))
	}
	return err
}

func (n *Node) containerdConfig() string {
	return fmt.Sprintf(`version = 2
root = %q
state = "/run/containerd/nettoll"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, filepath.Join(n.dir, "containerd"), n.socket(), pauseImage, n.plugins(), filepath.Join(n.dir, "cni"))
}

// connect connects the node to the others, and has containerd connect pods to it.
func (n *Node) connect(ctx context.Context, stack *undo.Stack) error {
	var err error
	if n.mtu, err = n.cluster.cni().connect(n, ctx, stack); err != nil {
		return err
	}
	list, err := json.MarshalIndent(n.conflist(), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.dir, "cni", "10-nettoll.conflist"), list, 0o644)
}

// conflist is the network of the node's pods, and published ports.
func (n *Node) conflist() fields {
	connects := bridgePlugin
	if own := n.cluster.cni().plugin; own != nil {
		connects = own
	}
	return fields{
		"cniVersion": "1.0.0", "name": "nettoll",
		"plugins": []fields{connects(n), {"type": "portmap", "capabilities": fields{"portMappings": true}, "snat": true}},
	}
}

// bridgePlugin is the configuration of CNI's bridge plugin. With the node's MTU it is also what flannel's plugin makes of the
// file that flanneld has written.
func bridgePlugin(n *Node) fields {
	return fields{
		"type": "bridge", "bridge": bridge, "isGateway": true, "ipMasq": false, "hairpinMode": true, "mtu": n.mtu,
		"ipam": n.hostLocal([]fields{{"dst": "0.0.0.0/0"}, {"dst": "::/0"}}),
	}
}

// hostLocal gives pods addresses of the node's subnets. Without routes, the plugin that connects pods has its own.
func (n *Node) hostLocal(routes []fields) fields {
	ranges := func(six bool) []fields {
		return []fields{{"subnet": plumb.Subnet(n.Index, six).String(), "gateway": plumb.Gateway(n.Index, six).String()}}
	}
	all := fields{"type": "host-local", "ranges": [][]fields{ranges(false), ranges(true)}, "dataDir": "/var/lib/cni"}
	if routes != nil {
		all["routes"] = routes
	}
	return all
}

// maxPods is how many pods a node takes: those of all networks that stand at once. Its subnets have more addresses.
const maxPods = 240

func (n *Node) kubeletConfig() fields {
	off := fields{"enabled": false}
	return fields{
		"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",
		"address": n.Uplink().Addr4.Addr().String(), "readOnlyPort": 0, "healthzBindAddress": "127.0.0.1",
		"authentication":           fields{"anonymous": off, "webhook": off, "x509": fields{"clientCAFile": n.cluster.client.certificate}},
		"authorization":            fields{"mode": "AlwaysAllow"},
		"containerRuntimeEndpoint": "unix://" + n.socket(),
		"volumePluginDir":          filepath.Join(n.dir, "volumes"),
		"resolvConf":               "", // the lab has no name server
		"cgroupDriver":             "cgroupfs", "cgroupRoot": "/" + n.group(), "enforceNodeAllocatable": []string{},
		"maxPods": maxPods, "failCgroupV1": false, "failSwapOn": false, "protectKernelDefaults": true,
		// Otherwise kubelet needs rights that it may lack here; nothing depends on these.
		"oomScoreAdj": 0, "localStorageCapacityIsolation": false,
		// Nodes must not evict pods because of the machine's disks and memory.
		"evictionHard": fields{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"}, "imageGCHighThresholdPercent": 100,
		// The defaults, 50 requests per second and 100 at once, slow down a busy node.
		"kubeAPIQPS": 1000, "kubeAPIBurst": 1000,
	}
}

// route gives the node routes to the pods of others.
func (n *Node) route() error {
	return nl.With(n.Facts().NetNS, func(in *nl.NS) error {
		for _, to := range n.cluster.Nodes {
			if to == n {
				continue
			}
			err := cmp.Or(
				in.Route(plumb.Subnet(to.Index, false), to.Uplink().Addr4.Addr(), n.Uplink().Device),
				in.Route(plumb.Subnet(to.Index, true), to.Uplink().Addr6.Addr(), n.Uplink().Device))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
