package sockperf

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
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
	four = workload.Pair{Addr: netip.MustParseAddr("198.18.0.2"), Listen: netip.MustParseAddr("198.19.0.2"), Port: 20001, Own: [2]int{20002, 20003}}
)

func testJob(load string, o record.Options) workload.Job {
	return workload.Job{Workload: load, Options: o, Duration: time.Second}
}

func TestArgs(t *testing.T) {
	const to = " -i 198.18.0.2 -p 20002 "
	for _, c := range []struct {
		name string
		load string
		o    record.Options
		want string // the client's
		tcp  bool
	}{
		{"rr", record.TCPRR, record.Options{}, "ping-pong" + to + "--tcp -t 2 -m 14 --full-rtt", true},
		{"rr with all", record.TCPRR, record.Options{RequestSize: 100, Window: 65536}, "ping-pong" + to + "--tcp --buffer-size 65536 -t 2 -m 100 --full-rtt", true},
		{"rr in datagrams", record.UDPRR, record.Options{}, "ping-pong" + to + "-t 2 -m 14 --full-rtt", false},
		{"paced", record.PacedRR, record.Options{}, "under-load" + to + "--tcp -t 2 -m 14 --mps 1000 --reply-every 1 --full-rtt", true},
		{"paced with rate", record.PacedRR, record.Options{Rate: 50}, "under-load" + to + "--tcp -t 2 -m 14 --mps 50 --reply-every 1 --full-rtt", true},
		{"datagrams", record.UDPStream, record.Options{}, "throughput" + to + "-t 1 -m 1400", false},
		{"datagrams paced", record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}, "throughput" + to + "-t 1 -m 1000 --mps 5000", false},
		{"datagrams slower than one a second", record.UDPStream, record.Options{Bandwidth: 100}, "throughput" + to + "-t 1 -m 1400 --mps 1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := testJob(c.load, c.o)
			m, err := modeOf(job)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(m.clientArgs(job, four), " "); got != c.want {
				t.Errorf("arguments %s\nwant      %s", got, c.want)
			}
			server := strings.Join(m.serverArgs(job, four), " ")
			if !strings.HasPrefix(server, "server -i 198.19.0.2 ") || strings.Contains(server, " --tcp") != c.tcp {
				t.Errorf("server is %s", server)
			}
			if (m.ending() == program.Interrupt) != (c.load == record.UDPStream) {
				t.Errorf("server is ended by %v: only that of a stream is interrupted, since only that counts", m.ending())
			}
		})
	}
	for _, job := range []workload.Job{
		testJob(record.TCPStream, record.Options{}), testJob(record.TCPRR, record.Options{RequestSize: 13}),
	} {
		if _, err := modeOf(job); err == nil {
			t.Errorf("%s with %+v is possible", job.Workload, job.Options)
		}
	}
}

// TestWindow holds that what is left of sockperf's time is at least what was asked.
func TestWindow(t *testing.T) {
	for _, load := range []string{record.TCPRR, record.UDPStream} {
		for _, asked := range []time.Duration{time.Millisecond, 550 * time.Millisecond, 551 * time.Millisecond, time.Second, 10 * time.Second} {
			job := testJob(load, record.Options{})
			job.Duration = asked
			m, err := modeOf(job)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.window(job); got < asked || got >= asked+time.Second {
				t.Errorf("%s: asked for %v, counts for %v", load, asked, got)
			}
		}
	}
}
