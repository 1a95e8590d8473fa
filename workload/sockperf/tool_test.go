package sockperf

import (
	"slices"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "server -i") }

func TestArguments(t *testing.T) {
	const to, server = " -i 198.18.0.1 -p 20002 ", "server -i 198.18.0.2 --uc-reuseaddr -p 20002"
	job := workloadtest.Job
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"rr", job(record.TCPRR, record.Options{}), server + " --tcp", "ping-pong" + to + "--tcp -t 2 -m 14 --full-rtt"},
		{"rr with all", job(record.TCPRR, record.Options{RequestSize: 100, Window: 65536}), server + " --tcp --buffer-size 65536",
			"ping-pong" + to + "--tcp --buffer-size 65536 -t 2 -m 100 --full-rtt"},
		{"rr in datagrams", job(record.UDPRR, record.Options{}), server, "ping-pong" + to + "-t 2 -m 14 --full-rtt"},
		{"paced", job(record.PacedRR, record.Options{}), server + " --tcp", "under-load" + to + "--tcp -t 2 -m 14 --mps 1000 --reply-every 1 --full-rtt"},
		{"paced with rate", job(record.PacedRR, record.Options{Rate: 50}), server + " --tcp", "under-load" + to + "--tcp -t 2 -m 14 --mps 50 --reply-every 1 --full-rtt"},
		{"datagrams", job(record.UDPStream, record.Options{}), server, "throughput" + to + "-t 1 -m 1400"},
		{"datagrams paced", job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}), server, "throughput" + to + "-t 1 -m 1000 --mps 5000"},
		{"datagrams slower than one a second", job(record.UDPStream, record.Options{Bandwidth: 100}), server, "throughput" + to + "-t 1 -m 1400 --mps 1"},
	})
	if _, err := Tool.Trial(job(record.TCPRR, record.Options{RequestSize: 13}), nil); err == nil {
		t.Error("sockperf sends 13 bytes")
	}
}

// TestStarted holds that only the server of a stream is interrupted, since only that counts, and
// that a client under load has two threads.
func TestStarted(t *testing.T) {
	for _, d := range Tool.Drives {
		job := workloadtest.Job(d.Workload, record.Options{})
		job.CPUs.Client = []int{2, 3}
		server, client := workloadtest.Started(t, Tool, job, 0)
		if (server.Ending == program.Interrupt) != (d.Workload == record.UDPStream) {
			t.Errorf("%s: the server is ended by %v", d.Workload, server.Ending)
		}
		cpus := []int{2}
		if d.Workload == record.PacedRR {
			cpus = []int{2, 3}
		}
		if !slices.Equal(client.Command.CPUs, cpus) {
			t.Errorf("%s: client on CPUs %v", d.Workload, client.Command.CPUs)
		}
		protocol := "udp"
		if d.Workload == record.PacedRR || d.Workload == record.TCPRR {
			protocol = "tcp"
		}
		if server.Listen[0].Protocol != protocol {
			t.Errorf("%s: the server listens on %v", d.Workload, server.Listen)
		}
	}
}

// TestWindow holds that what is left of sockperf's time is at least what was asked.
func TestWindow(t *testing.T) {
	for _, load := range []string{record.TCPRR, record.UDPStream} {
		for _, asked := range []time.Duration{time.Millisecond, 550 * time.Millisecond, 551 * time.Millisecond, time.Second, 10 * time.Second} {
			job := workloadtest.Job(load, record.Options{})
			job.Duration = asked
			if got := window(job); got < asked || got >= asked+time.Second {
				t.Errorf("%s: asked for %v, counts for %v", load, asked, got)
			}
		}
	}
}
