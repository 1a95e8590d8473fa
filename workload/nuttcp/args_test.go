package nuttcp

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
	return workload.Job{Workload: load, Options: o, Warmup: 200 * time.Millisecond, Duration: time.Second}
}

func TestArgs(t *testing.T) {
	const head = "-4 -P 20002 -p 20003 -fparse -vv -i1 -T3 "
	for _, c := range []struct {
		name string
		load string
		o    record.Options
		pair workload.Pair
		want string
	}{
		{"stream", record.TCPStream, record.Options{}, four, head + "198.18.0.2"},
		{"stream over IPv6", record.TCPStream, record.Options{}, six, "-6" + head[2:] + "2001:2::2"},
		{"stream back", record.TCPStream, record.Options{Reverse: true}, four, head + "-r -F 198.18.0.2"},
		{"stream with all", record.TCPStream, record.Options{MessageSize: 4096, Window: 128 << 10}, four, head + "-l4096 -w128 -ws128 198.18.0.2"},
		{"a window that is no multiple", record.TCPStream, record.Options{Window: 1025}, four, head + "-w2 -ws2 198.18.0.2"},
		{"datagrams", record.UDPStream, record.Options{}, four, head + "-u -Ru -l1400 198.18.0.2"},
		{"datagrams paced", record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}, four, head + "-u -R40000 -l1000 198.18.0.2"},
		{"datagrams at a snail's pace", record.UDPStream, record.Options{Bandwidth: 100}, four, head + "-u -R1 -l1400 198.18.0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := testJob(c.load, c.o)
			transfer, err := transferOf(job)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(transfer.clientArgs(job, c.pair), " "); got != c.want {
				t.Errorf("arguments %s\nwant      %s", got, c.want)
			}
		})
	}
	if _, err := transferOf(testJob(record.TCPRR, record.Options{})); err == nil {
		t.Error("nuttcp drives tcp_rr")
	}
	if got := strings.Join(serverArgs(six), " "); got != "-6 -S --nofork --no3rdparty -P 20002" {
		t.Errorf("server has %s", got)
	}
}
