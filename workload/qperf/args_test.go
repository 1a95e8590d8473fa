package qperf

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

// named is an endpoint that nothing is started in.
type named struct {
	platform.Endpoint
	name string
}

func (n named) Name() string { return n.name }

func between(client, server string) workload.Pair {
	return workload.Pair{Client: named{name: client}, Server: named{name: server}}
}

var (
	four = workload.Pair{Addr: netip.MustParseAddr("198.18.0.2"), Port: 20001, Own: [2]int{20002, 20003}}
	six  = workload.Pair{Addr: netip.MustParseAddr("2001:2::2"), Port: 20001, Own: [2]int{20002, 20003}}
)

func testJob(load string, o record.Options) workload.Job {
	return workload.Job{Workload: load, Options: o, Duration: 1500 * time.Millisecond}
}

func TestClientArgs(t *testing.T) {
	const head, rest = "198.18.0.2 -lp 20002 -ip 20003 -ws 1 ", "-t 2 -uu -ub -un -e 12 -vvs -vvt -vvu "
	for _, c := range []struct {
		name string
		load string
		o    record.Options
		pair workload.Pair
		want string
	}{
		{"stream", record.TCPStream, record.Options{}, four, head + rest + "tcp_bw"},
		{"stream with all", record.TCPStream, record.Options{MessageSize: 4096, Window: 131072}, four, head + rest + "-m 4096 -sb 131072 tcp_bw"},
		{"rr", record.TCPRR, record.Options{}, four, head + rest + "-m 1 tcp_lat"},
		{"datagrams", record.UDPStream, record.Options{}, four, head + rest + "-m 1400 udp_bw"},
		{"datagrams with size", record.UDPStream, record.Options{MessageSize: 100}, four, head + rest + "-m 100 udp_bw"},
		{"rr in datagrams", record.UDPRR, record.Options{Window: 4096}, six, strings.Replace(head, "198.18.0.2", "2001:2::2", 1) + rest + "-m 1 -sb 4096 udp_lat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := testJob(c.load, c.o)
			test, err := testOf(job)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(test.clientArgs(job, c.pair), " "); got != c.want {
				t.Errorf("arguments %s\nwant      %s", got, c.want)
			}
		})
	}
	if _, err := testOf(testJob(record.TCPCRR, record.Options{})); err == nil {
		t.Error("qperf drives tcp_crr")
	}
	if got := strings.Join(serverArgs(six), " "); got != "-lp 20002" {
		t.Errorf("server has %s", got)
	}
}
