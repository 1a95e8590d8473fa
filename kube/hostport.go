package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"nettoll/internal/await"
	"nettoll/internal/cgroup"
	"nettoll/internal/netns"
	"nettoll/internal/nsexec"
	"nettoll/internal/wrap"
	"nettoll/platform"
)

// CNI's portmap plugin removes the rules of a pod with the pod. It leaves the chains that all pods share, with the jumps to
// them, and the parameter of the bridge that lets a node dial its own ports at 127.0.0.1. Networks that are measured
// afterwards on the same nodes would meet both. Two networks with such pods, as in a self-check, can stand on a node at once, and
// are taken down at the same time: the last one removes what the plugin has left.

// portmapChain begins the names of the plugin's chains (plugins/meta/portmap/portmap_iptables.go).
const portmapChain = "CNI-"

// hostPorts counts the pods on a node that have ports of it. It is locked while what the plugin has left is removed.
type hostPorts struct {
	mu   sync.Mutex
	pods int
}

// add notes one more pod.
func (p *hostPorts) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods++
}

// forgetHostPorts notes how many pods with ports of their nodes are gone, and removes what the plugin has left on nodes that have
// no other one.
func forgetHostPorts(ctx context.Context, gone map[*Node]int) error {
	var forgetting errgroup.Group
	for n, pods := range gone {
		forgetting.Go(func() error {
			n.published.mu.Lock()
			defer n.published.mu.Unlock()
			if n.published.pods -= pods; n.published.pods > 0 {
				return nil
			}
			err := errors.Join(n.resetLocalnet(), n.portmapEnded(ctx))
			for _, program := range []string{"iptables", "ip6tables"} {
				err = errors.Join(err, n.dropPortmap(ctx, program))
			}
			return wrap.Error(err, "kubernetes: remove what portmap left on %s", n.Name())
		})
	}
	return forgetting.Wait()
}

// resetLocalnet gives route_localnet of the bridge the value that new devices have.
func (n *Node) resetLocalnet() error {
	const of = "net/ipv4/conf/%s/route_localnet"
	usual, err := netns.Sysctl(n.Facts().NetNS, fmt.Sprintf(of, "default"))
	if err != nil {
		return err
	}
	if err := netns.SetSysctl(n.Facts().NetNS, fmt.Sprintf(of, bridge), usual); !errors.Is(err, fs.ErrNotExist) { // no pod was made
		return err
	}
	return nil
}

// portmapEnded waits until the plugin does not run on the node. A pod that is removed while it is being started is gone for
// the API server before its network is removed, and the plugin makes its chain once more to remove it.
func (n *Node) portmapEnded(ctx context.Context) error {
	return await.Until(ctx, endTime, 5*time.Millisecond, func(context.Context) (missing, err error) {
		for _, root := range cgroup.Roots() {
			for _, pid := range cgroup.Processes(filepath.Join(root, n.system())) {
				if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "portmap\n" {
					return fmt.Errorf("portmap did not end within %v", endTime), nil
				}
			}
		}
		return nil, nil
	})
}

// dropPortmap removes the plugin's chains, and the rules that jump to them, of an IP version.
func (n *Node) dropPortmap(ctx context.Context, program string) error {
	rules, err := n.natRules(ctx, program)
	if err != nil {
		return err
	}
	drop := withoutPortmap(rules)
	if drop == "" {
		return nil
	}
	return nsexec.Run(ctx, n.Host, platform.Command{
		Path: program + "-restore", Args: []string{"--wait", "10", "--noflush"}, Stdin: strings.NewReader(drop),
	})
}

// natRules returns the rules of the table nat, as iptables-save prints them.
func (n *Node) natRules(ctx context.Context, program string) (string, error) {
	return nsexec.Output(ctx, n.Host, program+"-save", "-t", "nat")
}

// withoutPortmap returns the input of iptables-restore that removes the plugin's chains from a table; empty: there are none.
func withoutPortmap(rules string) string {
	var jumps, flushed, removed strings.Builder
	for line := range strings.Lines(rules) {
		if chain, ok := strings.CutPrefix(line, ":"+portmapChain); ok {
			name, _, _ := strings.Cut(chain, " ")
			fmt.Fprintf(&flushed, "-F %s%s\n", portmapChain, name)
			fmt.Fprintf(&removed, "-X %s%s\n", portmapChain, name)
		}
		if rule, ok := strings.CutPrefix(line, "-A "); ok && !strings.HasPrefix(rule, portmapChain) && strings.Contains(rule, " -j "+portmapChain) {
			jumps.WriteString("-D " + rule)
		}
	}
	if removed.Len() == 0 {
		return ""
	}
	return "*nat\n" + jumps.String() + flushed.String() + removed.String() + "COMMIT\n"
}
