package workloadtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"nettoll/agent"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/network"
	"nettoll/network/kernel"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/workload"
)

// standing is a network of veth pairs with the agents at their ends, which stay for several trials.
type standing struct {
	*network.Network
	topo  network.Topology
	seats map[seat]*manned

	namespaces []uint64 // of its containers
}

// seat identifies a client or server process in an endpoint.
type seat struct {
	endpoint platform.Endpoint
	process  int // which of the container's clients, from 0; 0 for a server
}

type manned struct {
	platform.Endpoint
	agent *agent.Client
}

// Agent implements workload.Agenter.
func (m *manned) Agent(ctx context.Context) (*agent.Client, error) {
	if m.agent != nil {
		return m.agent, nil
	}
	var err error
	m.agent, err = agent.Start(ctx, m.Endpoint)
	return m.agent, err
}

func connect(t *testing.T, topo network.Topology) *standing {
	t.Helper()
	v, err := kernel.Veth().Connect(t.Context(), topo, lab.New())
	iferr.Fatal(t, err)
	n := &standing{Network: v, topo: topo, seats: map[seat]*manned{}}
	for _, e := range slices.Concat(v.Servers, v.Clients) {
		ns, err := inode(e.Facts().NetNS)
		iferr.Fatal(t, err)
		n.namespaces = append(n.namespaces, ns)
	}
	t.Cleanup(func() {
		for _, m := range n.seats {
			if m.agent == nil {
				continue
			}
			iferr.Error(t, m.agent.Close())
		}
		iferr.Error(t, n.Close(context.Background()))
	})
	return n
}

func (n *standing) seat(e platform.Endpoint, process int) *manned {
	k := seat{e, process}
	if n.seats[k] == nil {
		n.seats[k] = &manned{Endpoint: e}
	}
	return n.seats[k]
}

// job returns a trial of a second between all pairs.
func (n *standing) job(t *testing.T, name string, f network.Family) (workload.Job, *watched) {
	t.Helper()
	w := &watched{}
	job := workload.Job{Workload: name, Duration: second + machine.Slack(t), Watch: workload.Watch{Open: w.open, Close: w.close}}
	taken := make([]int, n.topo.Servers)
	for i, c := range n.Clients {
		k := n.topo.Pair(i)
		s := n.Servers[k]
		addr, err := n.Addr(c, s, f)
		iferr.Fatal(t, err)
		first, _ := n.topo.Ports(k)
		for p := range max(n.topo.Processes, 1) {
			own := first + 1 + 2*taken[k]
			taken[k]++
			job.Pairs = append(job.Pairs, workload.Pair{
				Client: n.seat(c, p), Server: n.seat(s, 0), Addr: addr, Listen: addr, Port: first, Own: [2]int{own, own + 1},
			})
		}
	}
	return job, w
}

// serverAddr returns the address at which clients reach the first server.
func (n *standing) serverAddr(t *testing.T) string {
	a, err := n.Addr(n.Clients[0], n.Servers[0], network.IPv4)
	iferr.Fatal(t, err)
	return a.String()
}

// count reads the counters of the devices on each client's path, by the client's index.
func (n *standing) count(t *testing.T, f network.Family) (counts [][]network.Count) {
	t.Helper()
	for i, c := range n.Clients {
		var ends []network.Count
		for _, h := range n.Path(c, n.Servers[n.topo.Pair(i)], f) {
			v, err := h.Read(t.Context())
			iferr.Fatal(t, err)
			ends = append(ends, v)
		}
		counts = append(counts, ends)
	}
	return counts
}

// watched records the calls of a job's observer.
type watched struct {
	mu    sync.Mutex
	calls []string
	then  func() // called when the window opens
}

func (w *watched) open() {
	w.note("open")
	if w.then != nil {
		w.then()
	}
}
func (w *watched) close() { w.note("close") }

func (w *watched) note(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
}

// check checks that the window has opened and closed once or, if times is 0 because the trial has
// failed, at most once.
func (w *watched) check(t *testing.T, times int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := strings.Join(w.calls, " ")
	if got != "open close" && (times > 0 || got != "") {
		t.Errorf("the observer was told: %q", got)
	}
}
