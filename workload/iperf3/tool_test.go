package iperf3

import (
	"slices"
	"testing"
	"time"

	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "-s -1") }

func TestArguments(t *testing.T) {
	const server, head, end = "-s -1 -J -B 198.18.0.2 -p 20002", "-J -c 198.18.0.1 -p 20002 -t 2 -i 1", " --connect-timeout 3000"
	job := func(load string, o record.Options, pairs ...workload.Pair) workload.Job {
		j := workloadtest.Job(load, o, pairs...)
		j.Duration = 1500 * time.Millisecond
		return j
	}
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"tcp", job(record.TCPStream, record.Options{}), server, head + end},
		{"tcp with all", workloadtest.Warm(job(record.TCPStream, record.Options{Streams: 4, MessageSize: 65536, Window: 131072, Congestion: "reno", ZeroCopy: true, Reverse: true},
			workloadtest.Pair("c", "s", "2001:2::1")), 200*time.Millisecond), "-s -1 -J -B 2001:2::2 -p 20002",
			"-J -c 2001:2::1 -p 20002 -t 2 -i 1 --connect-timeout 3000 -O 1 -P 4 -l 65536 -w 131072 -C reno -Z -R"},
		{"bidir", workloadtest.Warm(job(record.TCPBidir, record.Options{}), time.Second), server, head + end + " -O 1 --bidir"},
		{"udp as fast as it goes", job(record.UDPStream, record.Options{}), server, head + end + " -u -b 0 --get-server-output -l 1400"},
		{"udp paced", job(record.UDPStream, record.Options{Bandwidth: 5_000_000, MessageSize: 1000, Streams: 2}), server,
			head + end + " -u -b 5000000 --get-server-output -P 2 -l 1000"},
		{"udp reverse", job(record.UDPStream, record.Options{Reverse: true}), server, head + end + " -u -b 0 -l 1400 -R"},
	})
}

// TestCPUs wants a client and its server of one stream on a CPU of their own.
func TestCPUs(t *testing.T) {
	p := workloadtest.Pair("c", "s", "198.18.0.1")
	for streams, cpus := range map[int][2][]int{0: {{3}, {5}}, 2: {{2, 3}, {4, 5}}} {
		job := workloadtest.Job(record.TCPStream, record.Options{Streams: streams}, p, p)
		job.CPUs = workload.CPUs{Client: []int{2, 3}, Server: []int{4, 5}}
		server, client := workloadtest.Started(t, Tool, job, 1)
		if !slices.Equal(client.Command.CPUs, cpus[0]) || !slices.Equal(server.Command.CPUs, cpus[1]) {
			t.Errorf("%d streams: client on CPUs %v, server on %v", streams, client.Command.CPUs, server.Command.CPUs)
		}
	}
}

func TestVersions(t *testing.T) {
	workloadtest.Versions(t, Tool, map[string]string{
		"iperf 3.12 (cJSON 1.7.15)":                     "3.12",
		"iperf 3.18 (cJSON 1.7.15)":                     "3.18",
		"iperf 3.6 (cJSON 1.5.2)":                       "", // knows no --bidir
		"iperf version 2.1.8 (12 August 2022) pthreads": "",
		"lorem ipsum":                                   "",
	})
}
