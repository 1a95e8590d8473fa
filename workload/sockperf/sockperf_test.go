package sockperf

import (
	"slices"
	"syscall"
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
		{"datagrams", job(record.UDPStream, record.Options{}), server, "throughput" + to + "-t 1 -m 1300"},
		{"datagrams paced", job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}), server, "throughput" + to + "-t 1 -m 1000 --mps 5000"},
		{"large datagrams paced", job(record.UDPStream, record.Options{MessageSize: 65507, Bandwidth: 1e6}), server, "throughput" + to + "-t 1 -m 65507 --mps 2"},
		{"datagrams slower than one a second", job(record.UDPStream, record.Options{Bandwidth: 100}), server, "throughput" + to + "-t 1 -m 1300 --mps 1"},
	})
}

// TestStarted checks that only the server of a stream is interrupted, since only its output counts,
// and that a client under load has two threads.
func TestStarted(t *testing.T) {
	for _, d := range Tool.Drives {
		job := workloadtest.Job(d.Workload, record.Options{})
		job.CPUs.Client = []int{2, 3}
		server, client := workloadtest.Started(t, Tool, job, 0)
		if (server.Ending == syscall.SIGINT) != (d.Workload == record.UDPStream) {
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

// TestWindow checks that the rest of sockperf's time is at least as long as requested.
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

func TestMeasures(t *testing.T) {
	job := workloadtest.Clients
	paced := record.Options{MessageSize: 1000, Bandwidth: 40e6}
	faster := workloadtest.Warm(job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 42e6}, 1), time.Second)
	workloadtest.Measures(t, Tool, "3.7/%s.txt", []workloadtest.Case{
		{"rr", job(record.TCPRR, record.Options{}, 1), "tcp_rr", "", "",
			"1.464s 830788 B [{973812 1 34779}] latency_max=0.02856253 latency_mean=4.9322e-05 latency_p50=1.402e-05 latency_p90=1.5482e-05 " +
				"latency_p99=0.001028606 latency_p999=0.005024557 transaction_rate=20267.08 0 B/29671"},
		{"rr of two clients", job(record.TCPRR, record.Options{}, 2), "tcp_rr+tcp_rr", "# dropped messages = 0;", "# dropped messages = 51;",
			"1.464s 1661576 B [{973812 1 34779} {973812 1 34779}] latency_max=0.02856253 latency_mean=4.9322e-05 transaction_rate=40534.15 0 B/29671 0 B/29671 " +
				"unanswered: 102 of 69560 requests had no answer when the time "},
		{"rr in datagrams", job(record.UDPRR, record.Options{RequestSize: 100}, 1), "udp_rr", "", "",
			"1.463s 6619200 B [{9527600 1 47638}] latency_max=0.07549144 latency_mean=4.4171e-05 latency_p50=1.3209e-05 latency_p90=1.7936e-05 " +
				"latency_p99=0.000340213 latency_p999=0.004125176 transaction_rate=22622.01 0 B/33096"},
		{"paced", job(record.PacedRR, record.Options{}, 1), "paced_rr", "", "",
			"1.548s 43344 B [{56000 1}] latency_max=0.03349496 latency_mean=0.001422831 latency_p50=0.000120452 latency_p90=0.003047824 " +
				"latency_p99=0.01512748 latency_p999=0.01517115 transaction_rate=1000 0 B/1548"},
		// All answers count, also those to requests of the warm-up, and the rate is that of all requests.
		{"paced, faster than the server", job(record.PacedRR, record.Options{Rate: 150_000}, 1), "paced_rr_overload", "", "", "2s 5454932 B [{5454932 1}] latency_max=0.6340082 latency_mean=0.3421675 latency_p50=0.3443573 latency_p90=0.5731842 latency_p99=0.6259951 " +
			"latency_p999=0.633282 transaction_rate=97409.5 0 B/194819 pace-missed: reached only 108856 of the requested 150000 messag " +
			"unanswered: 17463 of 217711 requests had no answer when the ti"},
		{"a later version", job(record.TCPRR, record.Options{}, 1), "tcp_rr", "(std-dev=409.429)", "(std-dev=409.429, mean-ad=61.2, median-ad=0.7, siqr=0.5, cv=8.301, std-error=2.4, 99.0% ci=[43.2, 55.4])",
			"1.464s 830788 B [{973812 1 34779}] latency_max=0.02856253 latency_mean=4.9322e-05 latency_p50=1.402e-05 latency_p90=1.5482e-05 " +
				"latency_p99=0.001028606 latency_p999=0.005024557 transaction_rate=20267.08 0 B/29671"},
		{"datagrams", job(record.UDPStream, record.Options{MessageSize: 1400}, 1), "throughput throughput_server", "", "",
			"1s 35448000 B [{35448000 1}] loss=0.2439986 packet_rate=25320 throughput=2.83584e+08 35448000 B/0"},
		{"datagrams paced", job(record.UDPStream, paced, 2), "throughput_paced+throughput_paced throughput_paced_server", "", "",
			"1.002999999s 9958000 B [{4979000 1} {4979000 1}] loss=0 packet_rate=9928.215 throughput=7.942572e+07 4979000 B/0 4979000 B/0"},
		{"datagrams slower than paced", faster, "throughput_paced throughput_paced_server", "", "",
			"1.002999999s 4979000 B [{4979000 1}] loss=0 packet_rate=4964.108 throughput=3.971286e+07 4979000 B/0 no-warmup: sockperf leaves out only 0s of the warm-up of 1s " +
				"pace-missed: reached only 4964 of the requested 5250 messages p"},
		{"datagrams at 1.5 a second", job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 12e3}, 1), "throughput_paced throughput_paced_server", "", "",
			"1.002999999s 4979000 B [{4979000 1}] loss=0 packet_rate=4964.108 throughput=3.971286e+07 4979000 B/0 " +
				"pace-rounded: sockperf sends whole numbers of messages per secon pace-exceeded: offered 4964 instead of the requested 2 messages p"},
	})
}

func TestParseRefuses(t *testing.T) {
	rr, stream := workloadtest.Job(record.TCPRR, record.Options{}), workloadtest.Job(record.UDPStream, record.Options{})
	longer := rr
	longer.Duration = 3 * time.Second
	workloadtest.Refuses(t, Tool, "3.7/%s.txt", []workloadtest.Case{
		{"nothing", rr, "tcp_rr", workloadtest.Transcript(t, "3.7/tcp_rr.txt"), "", "printed the total run 0 times; version 3.7 is known"},
		{"half the way", rr, "tcp_rr_half", "", "", "printed the mean round trip 0 times"},
		{"a line is missing", rr, "tcp_rr", "percentile 99.000", "percentile 98.000", "the 99th percentile 0 times"},
		{"a line twice", rr, "tcp_rr", "percentile 99.900", "percentile 99.000", "the 99th percentile 2 times"},
		{"other words", rr, "tcp_rr", "ReceivedMessages=29671", "GotMessages=29671", "the valid duration 0 times"},
		{"NaN", rr, "tcp_rr", "avg-rtt=49.322", "avg-rtt=nan", `"nan" as the mean round trip`},
		{"infinity", rr, "tcp_rr", "= 28562.533\nsockperf: ---> percentile 99.999", "= inf\nsockperf: ---> percentile 99.999", `"inf" as the longest round trip`},
		{"negative", rr, "tcp_rr", "50.000 =   14.020", "50.000 =   -14.020", `"-14.020" as the 50th percentile`},
		{"zero", rr, "tcp_rr", "avg-rtt=49.322", "avg-rtt=0.000", "a mean round trip of 0"},
		{"no answers", rr, "tcp_rr", "ReceivedMessages=29671", "ReceivedMessages=0", "0 of 34779 answers"},
		{"percentiles descend", rr, "tcp_rr", "90.000 =   15.482", "90.000 =   13.482", "the 90th percentile as 13.482 µs, but a lower percentile as 14.02"},
		{"lost", workloadtest.Job(record.UDPRR, record.Options{}), "udp_rr_lost", "", "", "No valid observations found"},
		{"stopped", rr, "tcp_rr", "RunTime=1.464", "RunTime=0.464", "0.464 s of 1.550"},
		{"another time", longer, "tcp_rr", "", "", "ran for 2.016 s instead of 4"},
		{"another clock", rr, "tcp_rr", "RunTime=2.016", "RunTime=4.016", "ran for 4.016 s instead of 2"},
		{"refused", rr, "refused", "", "", "ERROR: Can`t connect socket (errno=111 Connection refused)"},
		{"no server", workloadtest.Job(record.UDPRR, record.Options{}), "udp_rr_no_server", "", "", "No messages were received from the server"},
		{"a silent server", stream, "throughput refused", "", "", "server: sockperf reported: ERROR"},
		{"an idle server", stream, "throughput throughput_server_idle", "", "", "No messages were received on the server"},
		{"no count of the server", stream, "throughput throughput", "", "", "the number of messages that the server received 0 times"},
		{"nothing sent", stream, "throughput throughput_server", "Total of 33492", "Total of 0", "25320 of 0 messages"},
		{"a short stream", stream, "throughput throughput_server", "1.000 sec", "0.200 sec", "0.200 s of 1.000"},
	})
}

// TestStalled has a client whose answers ended early: the CPU time of the window is scaled as if they had not.
func TestStalled(t *testing.T) {
	for seconds, warned := range map[float64]bool{1.464: false, 1.39: true} {
		f := figures{Figures: program.Figures{Transactions: 100, Sums: map[string]float64{record.TransactionRate: 100 / seconds}}, seconds: seconds}
		r := together(workloadtest.Job(record.UDPRR, record.Options{}), program.Outcome{Window: time.Second}, []figures{f})
		if len(r.Warnings) > 0 != warned {
			t.Errorf("answers for %v s: %v", seconds, r.Warnings)
		}
	}
}

func FuzzParse(f *testing.F) {
	workloadtest.Fuzz(f, Tool, "3.7/%s.txt", []string{"tcp_rr throughput_server", "paced_rr throughput_server", "throughput throughput_server",
		"tcp_rr_half throughput_server", "refused throughput_server"})
}
