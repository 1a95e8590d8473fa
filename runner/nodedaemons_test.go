package runner_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// nodeAgent is the agent of a node on whose machine processes use shares of a CPU.
type nodeAgent struct {
	boot   string
	sees   string    // its PID namespace
	shares []float64 // by PID
}

// Call implements network.Agent.
func (n *nodeAgent) Call(_ context.Context, method string, in, out any) error {
	switch method {
	case sampler.MethodOrigin:
		*out.(*sampler.Origin) = sampler.Origin{Boot: n.boot, Processes: n.sees}
	case sampler.MethodProcesses:
		var all []time.Duration
		for _, pid := range in.([]int) {
			all = append(all, time.Duration(n.shares[pid]*float64(time.Now().UnixNano()%int64(time.Hour))))
		}
		*out.(*[]time.Duration) = all
	}
	return nil
}

// ended is the agent of a node whose daemons have ended since they were found.
type ended struct{ nodeAgent }

// Call implements network.Agent.
func (e ended) Call(ctx context.Context, method string, in, out any) error {
	if method == sampler.MethodProcesses {
		return errGone
	}
	return e.nodeAgent.Call(ctx, method, in, out)
}

// withNodes returns the trial of a network whose nodes have daemons.
func withNodes(t *testing.T, nodes ...network.NodeDaemons) record.Trial {
	t.Helper()
	b := newBench(&way{name: "kubernetes:pod", nodes: nodes})
	b.Settings.MaxRounds = 1
	end, err := b.run(t, t.Context())
	ends(t, end, err, record.EndMaxRounds, 1)
	if len(b.trials) != 1 {
		t.Fatalf("%+v", b.trials)
	}
	return b.trials[0]
}

func TestCPUTimeOfNodeDaemons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := withNodes(t,
			network.NodeDaemons{Host: "h1", Agent: &nodeAgent{boot: "a", shares: []float64{0.5, 0.25, 0.125}}, Names: []string{"calico-node", "kubelet", "calico-node"}, PIDs: []int{0, 1, 2}},
			network.NodeDaemons{Host: "h2", Agent: &nodeAgent{boot: "b", shares: []float64{0.75}}, Names: []string{"kubelet"}, PIDs: []int{0}},
			network.NodeDaemons{Host: "h3", Agent: &nodeAgent{boot: "b", shares: []float64{0.75}}, Names: []string{"kubelet"}, PIDs: []int{0}},                       // the same machine once more
			network.NodeDaemons{Host: "h4", Agent: &nodeAgent{boot: "b", sees: "a container", shares: []float64{0.125}}, Names: []string{"kubelet"}, PIDs: []int{0}}) // as a node of kind
		if tr.Status != record.OK || tr.CPU == nil {
			t.Fatalf("%s: %s", tr.Status, tr.Reason)
		}
		want := []record.DaemonCPU{{Name: "calico-node", Host: "h1", CPU: 0.625}, {Name: "kubelet", Host: "h1", CPU: 0.25}, {Name: "kubelet", CPU: 0.875}}
		if !slices.EqualFunc(tr.CPU.NodeDaemons, want, func(got, want record.DaemonCPU) bool {
			return got.Name == want.Name && got.Host == want.Host && math.Abs(got.CPU-want.CPU*tr.Window) < 1e-6
		}) {
			t.Errorf("in a window of %v s, daemons used %+v, want shares %+v", tr.Window, tr.CPU.NodeDaemons, want)
		}
	})
}

// TestNodeDaemonsOfWhichOneHasEnded has daemons end before a trial: the CPU time of all is unknown, and the trial stands.
func TestNodeDaemonsOfWhichOneHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := withNodes(t,
			network.NodeDaemons{Host: "h1", Agent: &nodeAgent{boot: "a", shares: []float64{0.5}}, Names: []string{"kubelet"}, PIDs: []int{0}},
			network.NodeDaemons{Host: "h2", Agent: ended{nodeAgent{boot: "b"}}, Names: []string{"kubelet"}, PIDs: []int{0}})
		said := slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool {
			return w.Code == "node-daemon-cpu" && w.Text == "the CPU time of the nodes' daemons is unknown: h2: the network fell off the table"
		})
		if tr.Status != record.OK || tr.CPU == nil || tr.CPU.NodeDaemons != nil || !said {
			t.Errorf("%s, %+v, warnings %+v", tr.Status, tr.CPU, tr.Warnings)
		}
	})
}
