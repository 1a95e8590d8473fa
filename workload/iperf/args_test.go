package iperf

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/record"
	"nettoll/workload"
)

func TestCommands(t *testing.T) {
	four, six := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("2001:2::2")
	for _, c := range []struct {
		name           string
		load           string
		o              record.Options
		addr           netip.Addr
		warmup         time.Duration
		server, client string
	}{
		{"tcp", record.TCPStream, record.Options{}, four, 0,
			"-s -B 198.18.0.2 -p 20001 -e -i 1 -f B",
			"-c 198.18.0.2 -p 20001 -e -i 1 -f B -t 2.5"},
		{"tcp with all", record.TCPStream, record.Options{Streams: 4, MessageSize: 65536, Window: 131072, Congestion: "reno", Reverse: true}, six, 200 * time.Millisecond,
			"-s -B 2001:2::2 -p 20001 -e -i 1 -f B -V -l 65536 -w 131072 -Z reno",
			"-c 2001:2::2 -p 20001 -e -i 1 -f B -V -l 65536 -w 131072 -Z reno -t 3.5 -R -P 4"},
		{"bidir", record.TCPBidir, record.Options{}, four, time.Second,
			"-s -B 198.18.0.2 -p 20001 -e -i 1 -f B",
			"-c 198.18.0.2 -p 20001 -e -i 1 -f B -t 3.5 --full-duplex"},
		{"udp as fast as it goes", record.UDPStream, record.Options{}, four, 0,
			"-s -B 198.18.0.2 -p 20001 -e -i 1 -f B -u -l 1400",
			"-c 198.18.0.2 -p 20001 -e -i 1 -f B -u -l 1400 -t 2.5 -b 1000g"},
		{"udp paced", record.UDPStream, record.Options{Bandwidth: 5_000_000, MessageSize: 1000, Streams: 2}, four, 0,
			"-s -B 198.18.0.2 -p 20001 -e -i 1 -f B -u -l 1000",
			"-c 198.18.0.2 -p 20001 -e -i 1 -f B -u -l 1000 -t 2.5 -b 5000000 -P 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := workload.Job{
				Workload: c.load, Options: c.o, Warmup: c.warmup, Duration: 1500 * time.Millisecond,
				Pairs: []workload.Pair{{}, {Addr: c.addr, Listen: c.addr, Port: 20001, Own: [2]int{20004, 20005}}},
				CPUs:  workload.CPUs{Client: []int{2, 3}, Server: []int{4, 5}},
			}
			server, client, err := commands("iperf", job, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(client.Args, " "); got != c.client {
				t.Errorf("client %s\nwant   %s", got, c.client)
			}
			if got := strings.Join(server.Args, " "); got != c.server {
				t.Errorf("server %s\nwant   %s", got, c.server)
			}
			cpus := [][]int{{3}, {5}}
			if c.o.Streams > 1 {
				cpus = [][]int{{2, 3}, {4, 5}}
			}
			if !slices.Equal(client.CPUs, cpus[0]) || !slices.Equal(server.CPUs, cpus[1]) {
				t.Errorf("client on CPUs %v, server on %v", client.CPUs, server.CPUs)
			}
		})
	}
	if _, _, err := commands("iperf", workload.Job{Workload: record.TCPRR, Pairs: make([]workload.Pair, 1)}, 0); err == nil {
		t.Error("commands for tcp_rr")
	}
}

// TestServerOfSeveral wants the one server of two clients on all CPUs of the set.
func TestServerOfSeveral(t *testing.T) {
	p := workload.Pair{Addr: netip.MustParseAddr("198.18.0.2"), Listen: netip.MustParseAddr("198.18.0.2"), Port: 20001}
	job := workload.Job{Workload: record.TCPStream, Duration: time.Second, Pairs: []workload.Pair{p, p}, CPUs: workload.CPUs{Server: []int{4, 5}}}
	server, _, err := commands("iperf", job, 0)
	if err != nil || !slices.Equal(server.CPUs, []int{4, 5}) {
		t.Errorf("CPUs %v, %v", server.CPUs, err)
	}
}
