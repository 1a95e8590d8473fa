package kubernetes_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/shellimage"
	"nettoll/kube"
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
// pods, and whether that is what is expected.
func TestNodeAgents(t *testing.T) {
	platformtest.Require(t, "kubelet", kube.Available(nil))
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	c, err := kube.Start(t.Context(), hosts.All(), kube.Options{Run: "nodeagent012", Image: shellimage.New(t)})
	iferr.Fatal(t, err)
	t.Cleanup(func() { iferr.Error(t, c.Stop(context.Background())) })
	agents := shellimage.Agents(t)
	uplinks := [2]string{c.Nodes[0].Uplink().Device, c.Nodes[1].Uplink().Device}
	for expect, wrong := range map[string]string{
		"plain": "",
		"vxlan": "wrong path: the payload crossed " + uplinks[1],
	} {
		t.Run(expect, func(t *testing.T) {
			own := kube.NewOwn(kube.OwnOptions{
				Login: kube.Login{Config: c.Server.Config(kube.Admin), Dial: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
					err = netns.Do(c.Nodes[0].Facts().NetNS, func() error {
						conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
						return err
					})
					return conn, err
				}},
				Nodes: []string{"h1", "h2"}, Image: kube.AgentImage, Run: expect + "0123456789",
				Agents:     agents,
				NodeAgents: true, NodeDaemons: wrong == "", Expect: expect,
			})
			t.Cleanup(func() { iferr.Error(t, own.Close(context.Background())) })
			var cells []record.Cell
			for _, name := range []string{"native", "pod", "service"} {
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
				want := []string{
					"h2c1/eth0", "h2/veth-h2c1", "h2/cni0", "h2/" + uplinks[1], "h1/" + uplinks[0], "h1/cni0", "h1/veth-h1c1", "h1c1/eth0",
				}
				if trial.Cell.IsNative() {
					want = []string{"h2c1/" + uplinks[1], "h1c1/" + uplinks[0]}
				}
				var unproved []string
				for _, w := range trial.Warnings {
					if w.Code == "path-unproved" {
						unproved = append(unproved, w.Text)
					}
				}
				if service := trial.Cell.Network == "kubernetes:service"; service != slices.Equal(unproved, []string{"what translates the addresses that clients dial is not proved"}) || !service && unproved != nil {
					t.Errorf("%s: not proved: %q", trial.Cell.Network, unproved)
				}
				seen := map[string]bool{}
				if trial.CPU != nil {
					for _, d := range trial.CPU.NodeDaemons {
						seen[d.Name] = d.Host == "" // both nodes are this machine
						used[d.Name] += d.CPU
					}
				}
				if watched := wrong == ""; seen["kubelet"] != watched || seen["containerd"] != watched {
					t.Errorf("%s: the CPU time of daemons is known for %v", trial.Cell.Network, seen)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: the path is %v, want %v", trial.Cell.Network, got, want)
				}
				status, reason := record.OK, ""
				if !trial.Cell.IsNative() && wrong != "" {
					status, reason = record.Invalid, wrong
				}
				if trial.Status != status || !strings.HasPrefix(trial.Reason, reason) {
					t.Errorf("%s: %s: %s, want %s: %s", trial.Cell.Network, trial.Status, trial.Reason, status, reason)
				}
			}
			if wrong == "" && (used["kubelet"] <= 0 || used["containerd"] <= 0) {
				t.Errorf("daemons have used CPU time: %v", used)
			}
		})
	}
}
