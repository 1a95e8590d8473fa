package iperf

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "-s -B") }

func TestArguments(t *testing.T) {
	const server, head = "-s -B 198.18.0.2 -p 20001 -e -i 1 -f B", "-c 198.18.0.1 -p 20001 -e -i 1 -f B"
	job := func(load string, o record.Options, pairs ...workload.Pair) workload.Job {
		j := workloadtest.Job(load, o, pairs...)
		j.Duration = 1500 * time.Millisecond
		return j
	}
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"tcp", job(record.TCPStream, record.Options{}), server, head + " -t 2.5"},
		{"tcp with all", workloadtest.Warm(job(record.TCPStream, record.Options{Streams: 4, MessageSize: 65536, Window: 131072, Congestion: "reno", Reverse: true},
			workloadtest.Pair("c", "s", "2001:2::1")), 200*time.Millisecond),
			"-s -B 2001:2::2 -p 20001 -e -i 1 -f B -V -l 65536 -w 131072 -Z reno",
			"-c 2001:2::1 -p 20001 -e -i 1 -f B -V -l 65536 -w 131072 -t 3.5 -R -P 4"},
		{"bidir", workloadtest.Warm(job(record.TCPBidir, record.Options{}), time.Second), server, head + " -t 3.5 --full-duplex"},
		{"udp as fast as it goes", job(record.UDPStream, record.Options{}), server + " -u -l 1300", head + " -u -l 1300 -t 2.5 -b 1000g"},
		{"udp paced", job(record.UDPStream, record.Options{Bandwidth: 5_000_000, MessageSize: 1000, Streams: 2}), server + " -u -l 1000",
			head + " -u -l 1000 -t 2.5 -b 5000000 -P 2"},
	})
}

// TestServers checks that there is one server at each address, on all CPUs of the set if it has
// several flows.
func TestServers(t *testing.T) {
	pairs := []workload.Pair{workloadtest.Pair("c", "s", "198.18.0.1"), workloadtest.Pair("d", "s", "198.18.0.1"), workloadtest.Pair("e", "s", "198.18.0.5")}
	job := workloadtest.Job(record.UDPStream, record.Options{}, pairs...)
	job.CPUs = workload.CPUs{Client: []int{2, 3}, Server: []int{4, 5}}
	for i, want := range []struct{ client, server []int }{{[]int{2}, []int{4, 5}}, {[]int{3}, []int{4, 5}}, {[]int{2}, []int{4}}} {
		server, client := workloadtest.Started(t, Tool, job, i)
		if !slices.Equal(client.Command.CPUs, want.client) || !slices.Equal(server.Command.CPUs, want.server) {
			t.Errorf("client %d on CPUs %v, its server on %v", i, client.Command.CPUs, server.Command.CPUs)
		}
		if p := server.Listen; len(p) != 1 || p[0].At.Addr() != pairs[i].Listen || p[0].Protocol != "udp" || server.Ending != syscall.SIGKILL {
			t.Errorf("server of client %d: %+v", i, server)
		}
	}
}

func TestVersions(t *testing.T) {
	workloadtest.Versions(t, Tool, map[string]string{
		"iperf version 2.1.8 (12 August 2022) pthreads":   "2.1.8",
		"iperf version 2.2.1-rc (4 Nov 2024) pthreads":    "2.2.1-rc",
		"iperf version 2.0.14a (2 October 2020) pthreads": "",
		"iperf 3.12 (cJSON 1.7.15)":                       "",
		"lorem ipsum":                                     "",
	})
}
