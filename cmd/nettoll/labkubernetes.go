package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"nettoll/docker/rootfs"
	"nettoll/kube"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// labKubernetes is the argument of nettoll lab that stands for a cluster instead of a network.
const labKubernetes = "kubernetes"

// kubernetes starts a cluster on hosts of the lab, and runs the command on the first node, which has the control
// plane. Everything is removed when the command ends.
func (a *app) kubernetes(ctx context.Context, f labFlags, shape platform.Underlay, root *rootfs.Image, command []string) (err error) {
	began := time.Now()
	building, cancel := context.WithTimeoutCause(ctx, labTime, fmt.Errorf("the cluster was not ready within %v", labTime))
	defer cancel()
	if err := kube.Connectable(a.paths, f.nodes.cni); err != nil {
		return withRemedy(err)
	}
	hosts, err := lab.New().Hosts(building, platform.HostRequest{Count: f.nodes.count(labKubernetes), Underlay: shape})
	if err != nil {
		return err
	}
	defer func() { err = a.leftBehind(err, ending(ctx, hosts.Close)) }()
	c, err := kube.Start(building, hosts.All(), kube.Options{Run: newID(), Paths: a.paths, Image: root, CNI: f.nodes.cni})
	if err != nil {
		return withRemedy(err)
	}
	defer func() { err = a.leftBehind(err, ending(ctx, c.Stop)) }()
	if err := lab.Publish(c.Nodes); err != nil {
		return err
	}
	if len(command) == 0 {
		fmt.Fprintf(a.stderr, "You are on h1, which has the control plane of a cluster with %s and %s (up in %.1f s); KUBECONFIG is for its API server.\n", counted(len(c.Nodes), "node"), c.CNI(), time.Since(began).Seconds())
		for _, n := range c.Nodes[1:] {
			fmt.Fprintf(a.stderr, "ip netns exec %s COMMAND runs on the node %[1]s.\n", n.Name())
		}
		fmt.Fprintf(a.stderr, "All nodes have the image %s (NETTOLL_IMAGE; imagePullPolicy: Never), and there is no registry and no DNS. exit removes everything.\n", kube.AgentImage)
	}
	config := c.Server.Config(kube.Admin)
	return a.shell(ctx, c.Nodes[0], command, []string{
		"KUBECONFIG=" + config, "NETTOLL_IMAGE=" + kube.AgentImage,
		"KUBECACHEDIR=" + filepath.Join(filepath.Dir(config), "kubectl"), // otherwise kubectl leaves what it has learned of this cluster in ~/.kube
	})
}
