package iperf3

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
		name   string
		load   string
		o      record.Options
		addr   netip.Addr
		warmup time.Duration
		want   string // of the client
	}{
		{"tcp", record.TCPStream, record.Options{}, four, 0,
			"-J -c 198.18.0.2 -p 20004 -t 2 -i 1 --connect-timeout 3000"},
		{"tcp with all", record.TCPStream, record.Options{Streams: 4, MessageSize: 65536, Window: 131072, Congestion: "reno", ZeroCopy: true, Reverse: true}, six, 200 * time.Millisecond,
			"-J -c 2001:2::2 -p 20004 -t 2 -i 1 --connect-timeout 3000 -O 1 -P 4 -l 65536 -w 131072 -C reno -Z -R"},
		{"bidir", record.TCPBidir, record.Options{}, four, time.Second,
			"-J -c 198.18.0.2 -p 20004 -t 2 -i 1 --connect-timeout 3000 -O 1 --bidir"},
		{"udp as fast as it goes", record.UDPStream, record.Options{}, four, 0,
			"-J -c 198.18.0.2 -p 20004 -t 2 -i 1 --connect-timeout 3000 -u -b 0 --get-server-output -l 1400"},
		{"udp paced", record.UDPStream, record.Options{Bandwidth: 5_000_000, MessageSize: 1000, Streams: 2}, four, 0,
			"-J -c 198.18.0.2 -p 20004 -t 2 -i 1 --connect-timeout 3000 -u -b 5000000 --get-server-output -P 2 -l 1000"},
		{"udp reverse", record.UDPStream, record.Options{Reverse: true}, four, 0,
			"-J -c 198.18.0.2 -p 20004 -t 2 -i 1 --connect-timeout 3000 -u -b 0 -l 1400 -R"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := workload.Job{
				Workload: c.load, Options: c.o, Warmup: c.warmup, Duration: 1500 * time.Millisecond,
				Pairs: []workload.Pair{{}, {Addr: c.addr, Listen: c.addr, Port: 20001, Own: [2]int{20004, 20005}}},
				CPUs:  workload.CPUs{Client: []int{2, 3}, Server: []int{4, 5}},
			}
			server, client, err := commands("/bin/iperf3", job, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(client.Args, " "); got != c.want {
				t.Errorf("client %s\nwant   %s", got, c.want)
			}
			if got := server.String(); got != "/bin/iperf3 -s -1 -J -B "+c.addr.String()+" -p 20004" {
				t.Errorf("server %s", got)
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
	if _, _, err := commands("iperf3", workload.Job{Workload: record.TCPRR, Pairs: make([]workload.Pair, 1)}, 0); err == nil {
		t.Error("commands for tcp_rr")
	}
}
