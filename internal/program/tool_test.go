package program

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// TestServes has clients of two endpoints, the first of which is reached at two addresses.
func TestServes(t *testing.T) {
	a, b := &endpoint{name: "a"}, &endpoint{name: "b"}
	pair := func(server *endpoint, addr string, own int) workload.Pair {
		return workload.Pair{Server: server, Listen: netip.MustParseAddr(addr), Port: 1, Own: [2]int{own, own + 1}}
	}
	job := workload.Job{
		Pairs: []workload.Pair{pair(a, "198.18.0.1", 2), pair(a, "::ffff:198.18.0.1", 4), pair(a, "198.18.0.2", 6), pair(b, "198.18.0.3", 2)},
		CPUs:  workload.CPUs{Client: []int{0, 1}, Server: []int{2, 3}},
	}
	for s, want := range map[Serves]string{
		OneClient: "[2] 1 [198.18.0.1:2] [3] 1 [198.18.0.1:4] [2] 1 [198.18.0.2:6] [3] 1 [198.18.0.3:2]",
		Address:   "[2 3] 2 [198.18.0.1:1] [2 3] 2 [198.18.0.1:1] [2] 1 [198.18.0.2:1] [3] 1 [198.18.0.3:1]",
		Endpoint:  "[2 3] 3 [198.18.0.1:1 198.18.0.2:1] [2 3] 3 [198.18.0.1:1 198.18.0.2:1] [2 3] 3 [198.18.0.1:1 198.18.0.2:1] [3] 1 [198.18.0.3:1]",
	} {
		var got []string
		for i := range job.Pairs {
			p := s.pair(job, i)
			ports := record.Each(p.Ports("tcp"), func(port Port) netip.AddrPort { return port.At })
			got = append(got, fmt.Sprint(p.ServerCPUs, p.Flows, ports))
			if len(p.ClientCPUs) != 1 || p.ClientCPUs[0] != i%2 {
				t.Errorf("client %d on CPUs %v", i, p.ClientCPUs)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%d: %s\nwant %s", s, text, want)
		}
	}
}

// TestCPUsOfSeveralMachines has clients on two machines, in turn: the CPUs are given out on each by itself.
func TestCPUsOfSeveralMachines(t *testing.T) {
	job := workload.Job{
		CPUs: workload.CPUs{Client: []int{4, 5}, Server: []int{6, 7}}, Distant: true,
		On: func(e platform.Endpoint) string { return e.Name()[:1] },
	}
	for _, name := range []string{"b1", "c1", "b2", "c2"} {
		job.Pairs = append(job.Pairs, workload.Pair{Client: &endpoint{name: name}, Server: &endpoint{name: "s"}, Own: [2]int{1, 2}})
	}
	for i, want := range [][2]int{{4, 6}, {4, 7}, {5, 6}, {5, 7}} {
		if p := OneClient.pair(job, i); p.ClientCPUs[0] != want[0] || p.ServerCPUs[0] != want[1] {
			t.Errorf("client %d on CPUs %v and %v, want %v", i, p.ClientCPUs, p.ServerCPUs, want)
		}
	}
}

// TestTrial checks that fields that a tool leaves empty are filled in.
func TestTrial(t *testing.T) {
	a := &endpoint{name: "a"}
	job := workload.Job{
		Workload: record.TCPStream, Warmup: 1, Duration: 1,
		Pairs: []workload.Pair{{Client: &endpoint{name: "c"}, Server: a, Listen: netip.MustParseAddr("198.18.0.1"), Own: [2]int{2, 3}}},
	}
	tool := Tool{
		Name: "ask", Programs: []Program{{Name: "ask"}, {Name: "answer"}}, Drives: []workload.Drive{{Workload: record.TCPStream}}, Roams: true,
		Server: func(Pair) Server { return Server{Command: Command{Args: []string{"s"}}} },
		Client: func(p Pair) Client {
			return Client{Command: Command{Args: []string{p.Lead.String(), p.Window.String()}}}
		},
	}
	found := Paths{"ask": "/bin/ask", "answer": "/bin/answer"}
	trial, err := tool.Trial(job, found)
	iferr.Fatal(t, err)
	s, c := trial.Servers[0], trial.Clients[0]
	if s.Command.String() != "/bin/answer s" || s.Endpoint != a || fmt.Sprint(s.Listen) != "[tcp port 2 of 198.18.0.1]" || fmt.Sprint(s.Place.Hold) != "[198.18.0.1]" {
		t.Errorf("server %+v", s)
	}
	if c.Command.String() != "/bin/ask 1s 1s" || c.Endpoint.Name() != "c" || trial.Lead != trial.Window {
		t.Errorf("client %+v", c)
	}
	tool.NoWarmup = true
	if trial, err := tool.Trial(job, found); err != nil || trial.Lead != 0 {
		t.Errorf("without a warm-up it begins after %v, %v", trial.Lead, err)
	}
	tool.Times = func(_ workload.Job, t *Trial) { t.Tail = time.Minute }
	if trial, err := tool.Trial(job, found); err != nil || trial.Tail != time.Minute {
		t.Errorf("the times of a tool do not count: it must have ended after %v, %v", trial.Tail, err)
	}
	if at := tool.At(nil); at.Roams != "answer" {
		t.Errorf("it roams, and nobody is told: %q", at.Roams)
	}
	tool.Roams = false
	if at := tool.At(nil); at.Roams != "" {
		t.Errorf("it does not roam, and is said to: %q", at.Roams)
	}
}
