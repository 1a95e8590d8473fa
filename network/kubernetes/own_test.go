package kubernetes_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/plumb"
	"nettoll/internal/testutil/bpfprogram"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/shellimage"
	"nettoll/kube"
	"nettoll/network"
	"nettoll/network/kubernetes"
	"nettoll/network/networktest"
	"nettoll/platform"
	platforms "nettoll/platform/kubernetes"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/workload/engine"
)

// TestNodeAgents uses a private cluster as if it were the user's. Agents on its nodes find what carries the payload between
// pods, and whether that is what is expected, what translates the addresses of services, and which BPF programs packets run through.
func TestNodeAgents(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	c, err := kube.Start(t.Context(), hosts.All(), kube.Options{Run: "0a6e27012345", Image: shellimage.New(t)})
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, c.Stop(context.Background())) })
	agents := shellimage.Agents(t)
	uplinks := [2]string{c.Nodes[0].Uplink().Device, c.Nodes[1].Uplink().Device}
	as := func(o kube.OwnOptions) *kube.Own {
		o.Login = kube.Login{Config: c.Server.Config(kube.Admin), Dial: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			err = netns.Do(c.Nodes[0].Facts().NetNS, func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
				return err
			})
			return conn, err
		}}
		o.Nodes, o.Image, o.Agents = []string{"h1", "h2"}, kube.AgentImage, agents
		own := kube.NewOwn(o)
		t.Cleanup(func() { iferr.Error(t, own.Close(context.Background())) })
		return own
	}
	t.Run("privileged", func(t *testing.T) {
		filter(t, c.Nodes[1].Facts().NetNS, uplinks[1])
		privileged(t, platforms.New(platforms.Options{Own: as(kube.OwnOptions{Run: "privileged01", NodeAgents: true, NodePrivileged: true})}))
	})
	all, two := []string{"native", "pod", "service"}, []string{"native", "pod"}
	for _, k := range []struct {
		name, expect, wrong string
		networks            []string
		through             *tunnel
	}{
		{"plain routes", "plain", "", all, nil},
		{"no vxlan", "vxlan", "wrong path: the payload crossed " + uplinks[1], all, nil},
		{"vxlan", "vxlan", "", two, &vxlan},
		{"ipip", "ipip", "", two, &ipip},
		{"wireguard", "wireguard", "", two, &wireguard},
	} {
		t.Run(k.name, func(t *testing.T) {
			out, in := []string{"h2/" + uplinks[1]}, []string{"h1/" + uplinks[0]}
			if k.through != nil {
				k.through.lead(t, c)
				out, in = append([]string{"h2/" + tunnelDevice}, out...), append(in, "h1/"+tunnelDevice)
			}
			counts := k.expect == "plain" && k.wrong == ""
			own := as(kube.OwnOptions{
				Run: strings.ReplaceAll(k.name, " ", "-") + "0123456789", NodeAgents: true, NodeDaemons: counts, Expect: k.expect,
			})
			var cells []record.Cell
			for _, name := range k.networks {
				cells = append(cells, record.Cell{
					Network: "kubernetes:" + name, Baseline: "kubernetes:native", Hosts: 2, Family: 4, Servers: 1, Clients: 1,
					Tool: engine.Name, Workload: record.TCPRR, Placement: record.PlacementFree, Options: record.Options{Congestion: "reno"}, // which pods may choose
				})
			}
			used := map[string]float64{} // by daemons, in all trials: they may have nothing to do in the turns of one
			for _, trial := range networktest.InTurns(t, platforms.New(platforms.Options{Own: own}), "kubernetes:", kubernetes.All(), cells) {
				t.Logf("%s: %d slices, %v", trial.Cell.Network, len(trial.Slices), trial.Warnings)
				var got []string
				for _, h := range trial.Path {
					got = append(got, h.Name)
				}
				want := slices.Concat([]string{"h2c1/eth0", "h2/veth-h2c1", "h2/cni0"}, out, in, []string{"h1/cni0", "h1/veth-h1c1", "h1c1/eth0"})
				if trial.Cell.IsNative() {
					want = []string{"h2c1/" + uplinks[1], "h1c1/" + uplinks[0]}
				}
				seen := map[string]bool{}
				if trial.CPU != nil {
					for _, d := range trial.CPU.NodeDaemons {
						seen[d.Name] = d.Host == "" // both nodes are this machine
						used[d.Name] += d.CPU
					}
				}
				if told := about("node-daemon-cpu", trial) == ""; told && (seen["kubelet"] != counts || seen["containerd"] != counts) {
					t.Errorf("%s: the CPU time of daemons is known for %v", trial.Cell.Network, seen)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: the path is %v, want %v", trial.Cell.Network, got, want)
				}
				unproved := ""
				if trial.Cell.Network == "kubernetes:service" {
					unproved = "what translates the addresses that clients dial is not proved (--node-privileged)"
				}
				if said := about("path-unproved", trial); said != unproved {
					t.Errorf("%s: not proved: %q, want %q", trial.Cell.Network, said, unproved)
				}
				status, reason := record.OK, ""
				if !trial.Cell.IsNative() && k.wrong != "" {
					status, reason = record.Invalid, k.wrong
				}
				if trial.Status != status || !strings.HasPrefix(trial.Reason, reason) {
					t.Errorf("%s: %s: %s, want %s: %s", trial.Cell.Network, trial.Status, trial.Reason, status, reason)
				}
			}
			if counts && (used["kubelet"] <= 0 || used["containerd"] <= 0) {
				t.Errorf("daemons have used CPU time: %v", used)
			}
		})
	}
}

// TestTunnelsOfNodes has the tunnels of TestNodeAgents carry packets between hosts without a cluster: their devices are of the
// kinds that --expect names, and count both ways.
func TestTunnelsOfNodes(t *testing.T) {
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	c := &kube.Cluster{Nodes: record.Each(hosts.All(), func(h platform.Host) *kube.Node { return &kube.Node{Host: h} })}
	pod := func(node int) netip.Addr { return plumb.Subnet(node, false).Addr().Next() }
	for i, node := range c.Nodes {
		iferr.Fatal(t, nl.With(node.Facts().NetNS, func(n *nl.NS) error {
			return errors.Join(n.Addr("lo", plumb.Single(pod(i))), n.Route(plumb.Subnet(1-i, false), c.Nodes[1-i].Uplink().Addr4.Addr(), node.Uplink().Device))
		}))
	}
	for kind, k := range map[string]*tunnel{"vxlan": &vxlan, "ipip": &ipip, "wireguard": &wireguard} {
		t.Run(kind, func(t *testing.T) {
			k.lead(t, c)
			iferr.Fatal(t, netns.Do(c.Nodes[1].Facts().NetNS, func() error {
				return exec.Command("ping", "-c", "2", "-i", "0.2", "-W", "30", "-I", pod(1).String(), pod(0).String()).Run()
			}))
			for i, node := range c.Nodes {
				iferr.Fatal(t, nl.With(node.Facts().NetNS, func(n *nl.NS) error {
					is, err := n.Interface(tunnelDevice)
					if is.Kind != kind || !slices.Contains(kube.Expectable, kind) || is.In < 2 || is.Packets < is.In+2 {
						t.Errorf("on node %d: %+v", i, is)
					}
					return err
				}))
			}
		})
	}
}

// tunnel is a kind of tunnel between two nodes.
type tunnel struct {
	need plumb.Need
	link func(_ netlink.LinkAttrs, local, remote netip.Addr) netlink.Link
	// set configures the device; nil: there is nothing to configure.
	set func(_ *nl.NS, node int, remote netip.Addr) error
}

var (
	vxlan = tunnel{need: plumb.VXLAN, link: func(a netlink.LinkAttrs, local, remote netip.Addr) netlink.Link {
		return &netlink.Vxlan{LinkAttrs: a, VxlanId: 42, SrcAddr: local.AsSlice(), Group: remote.AsSlice(), Port: 4789}
	}}
	ipip      = tunnel{need: plumb.IPIP, link: nl.IPIP}
	wireguard = tunnel{need: plumb.WireGuard, link: func(a netlink.LinkAttrs, _, _ netip.Addr) netlink.Link { return &netlink.Wireguard{LinkAttrs: a} }, set: encrypts}
)

const tunnelDevice = "tunnel0"

// lead has a tunnel carry what pods of the cluster's two nodes send to each other by IPv4, until the test ends.
func (k *tunnel) lead(t *testing.T, c *kube.Cluster) {
	t.Helper()
	if err := plumb.Check(t.Context(), k.need); errors.Is(err, platform.ErrUnsupported) {
		t.Skip(err)
	} else {
		iferr.Fatal(t, err)
	}
	ends := [2]netip.Prefix{netip.MustParsePrefix("198.18.200.1/30"), netip.MustParsePrefix("198.18.200.2/30")}
	for i, node := range c.Nodes {
		local, remote, pods := node.Uplink().Addr4.Addr(), c.Nodes[1-i].Uplink().Addr4.Addr(), plumb.Subnet(1-i, false)
		iferr.Fatal(t, nl.With(node.Facts().NetNS, func(n *nl.NS) error {
			if err := n.Add(k.link(nl.Attrs(tunnelDevice, 0), local, remote)); err != nil {
				return err
			}
			t.Cleanup(func() {
				iferr.Error(t, nl.With(node.Facts().NetNS, func(n *nl.NS) error { // its routes are gone with it
					return errors.Join(n.Remove(tunnelDevice), n.Route(pods, remote, node.Uplink().Device))
				}))
			})
			if k.set != nil {
				if err := k.set(n, i, remote); err != nil {
					return err
				}
			}
			if err := n.UpAs(tunnelDevice, ends[i]); err != nil {
				return err
			}
			if err := n.Unroute(pods); err != nil {
				return err
			}
			return n.Route(pods, ends[1-i].Addr(), tunnelDevice)
		}))
	}
}

// encrypts has the WireGuard device of one of two nodes accept what the other one sends.
func encrypts(n *nl.NS, node int, remote netip.Addr) error {
	port, key := 51820, func(of int) (k wgtypes.Key) { k[1], k[31] = byte(1+of), 64; return k } // as X25519 wants them
	own, other := key(node), key(1-node)
	all := net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	return n.WireGuard(tunnelDevice, wgtypes.Config{PrivateKey: &own, ListenPort: &port, Peers: []wgtypes.PeerConfig{{
		PublicKey: other.PublicKey(), Endpoint: net.UDPAddrFromAddrPort(netip.AddrPortFrom(remote, uint16(port))), AllowedIPs: []net.IPNet{all},
	}}})
}

// about returns the warnings of a trial that have a code.
func about(code string, trial record.Trial) string {
	of := record.Those(trial.Warnings, func(w record.Warning) bool { return w.Code == code })
	return strings.Join(record.Each(of, func(w record.Warning) string { return w.Text }), "; ")
}

// privileged builds networks on a cluster whose nodes have agents that may ask the kernel. On h2's card is the filter.
func privileged(t *testing.T, on platform.Platform) {
	where := map[string]string{"container": "", "pod": "", "service": "h2", "nodeport": "h1", "hostport": "h1", "service-hairpin": "h1"}
	for name, translates := range where {
		topo := networktest.Pair
		out, what := topo.Hosts, ""
		if name == "service-hairpin" || name == "container" {
			topo.Hosts, out = 1, 0
		}
		n, err := named(name).Connect(t.Context(), topo, on)
		iferr.Fatal(t, err)
		if translates != "" {
			what = "the addresses that clients dial were translated by conntrack (DNAT) on " + translates
		}
		for _, f := range []network.Family{network.IPv4, network.IPv6} {
			said, unproved := "", ""
			if n.Translator != nil {
				said, unproved = n.Translator(t.Context(), f)
			}
			if said != what || unproved != "" || n.Unproved != nil {
				t.Errorf("%s, IPv%d: %q, want %q; not proved: %q, %q", name, f, said, what, unproved, n.Unproved)
			}
		}
		said := strings.Join(n.Remarks(network.IPv4), "; ")
		// Both nodes have the kernel of this machine.
		if !strings.Contains(said, "crossed over IPv4: ") || strings.Contains(said, "translates") || strings.Contains(said, "not known") || strings.Contains(said, "nettoll_idle") || strings.Count(said, "nettoll_out (sched_cls)") != out {
			t.Errorf("%s: %s", name, said)
		}
		iferr.Error(t, n.Close(t.Context()))
	}
}

// filter has a BPF program run for each packet that leaves by a device, and loads another one that nothing runs.
func filter(t *testing.T, ns, device string) {
	t.Helper()
	fd := bpfprogram.Load(t, unix.BPF_PROG_TYPE_SCHED_CLS, "nettoll_out", -1) // no verdict
	bpfprogram.Load(t, unix.BPF_PROG_TYPE_SCHED_CLS, "nettoll_idle", -1)
	iferr.Fatal(t, netns.Do(ns, func() error {
		l, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		of := l.Attrs().Index
		all := netlink.QdiscAttrs{LinkIndex: of, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}
		if err := netlink.QdiscAdd(&netlink.GenericQdisc{QdiscAttrs: all, QdiscType: "clsact"}); err != nil {
			return err
		}
		return netlink.FilterAdd(&netlink.BpfFilter{
			FilterAttrs: netlink.FilterAttrs{LinkIndex: of, Parent: netlink.HANDLE_MIN_EGRESS, Handle: 1, Protocol: unix.ETH_P_ALL},
			Fd:          fd, Name: "nettoll", DirectAction: true,
		})
	}))
}
