package qperf

import (
	"math"
	"strings"
	"testing"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string {
	return workloadtest.Transcript(t, "0.4.11/"+name+".txt")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file string
		job  workload.Job
		want figures
	}{
		{"tcp_bw", workloadtest.Job(record.TCPStream, record.Options{}), figures{seconds: 1, bytes: 932708352, throughput: 7461666816}},
		{"tcp_bw_options", workloadtest.Job(record.TCPStream, record.Options{MessageSize: 4096}), figures{seconds: 1, bytes: 543563776, throughput: 4348510208}},
		{"tcp_lat", workloadtest.Job(record.TCPRR, record.Options{}), figures{seconds: 1, bytes: 51858, transactions: 25929, roundTrip: 38566.8556442e-9}},
		{"udp_bw", workloadtest.Job(record.UDPStream, record.Options{}), figures{
			seconds: 1.01, bytes: 52287200, received: 37348, sent: 61245, throughput: 414156039.604,
		}},
		{"udp_lat", workloadtest.Job(record.UDPRR, record.Options{}), figures{seconds: 1, bytes: 62269, transactions: 31134, roundTrip: 32118.710755e-9}},
		{"udp_lat_lost", workloadtest.Job(record.UDPRR, record.Options{}), figures{
			seconds: 1, bytes: 5998, transactions: 2999, roundTrip: 333444.481494e-9, unanswered: true,
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, err := parse(c.job, transcript(t, c.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.roundTrip-c.want.roundTrip) < 1e-15 {
				got.roundTrip = c.want.roundTrip
			}
			if got != c.want {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestResult(t *testing.T) {
	job := workloadtest.Job(record.UDPRR, record.Options{}, workloadtest.Pair("c", "s", "198.18.0.1"), workloadtest.Pair("d", "s", "198.18.0.1"))
	var all []figures
	for _, file := range []string{"udp_lat", "udp_lat_lost"} {
		m, err := parse(job, transcript(t, file), "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	r := together(job, program.Outcome{}, all)
	// Two messages make a transaction.
	if got, want := r.Metrics[record.TransactionRate].Value, (62269.0+5998)/2; math.Abs(got-want) > 1 {
		t.Errorf("%v transactions a second, want %v", got, want)
	}
	// Both spent their second with nothing else, so that the mean of all transactions
	// is two seconds by their number.
	if got, want := r.Metrics[record.LatencyMean].Value, 2/(31134.0+2999); math.Abs(got-want) > 1e-3*want {
		t.Errorf("mean %v, want %v", got, want)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "the last request of d") {
		t.Errorf("warnings %v", r.Warnings)
	}
	job.Workload = record.UDPStream
	m, err := parse(job, transcript(t, "udp_bw"), "")
	if err != nil {
		t.Fatal(err)
	}
	r = together(job, program.Outcome{}, []figures{m, m})
	for name, want := range map[string]float64{
		record.Throughput: 2 * 414156039.604, record.PacketRate: 2 * 37348 / 1.01, record.Loss: 1 - 37348.0/61245,
	} {
		if got := r.Metrics[name].Value; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	stream, rr, datagrams := workloadtest.Job(record.TCPStream, record.Options{}), workloadtest.Job(record.TCPRR, record.Options{}), workloadtest.Job(record.UDPStream, record.Options{})
	workloadtest.Refuses(t, Tool, "0.4.11/%s.txt", []workloadtest.Refusal{
		{"nothing", stream, "tcp_bw", transcript(t, "tcp_bw"), "", "did not print bw"},
		{"a field is missing", stream, "tcp_bw", "    rem_recv_bytes   =      932708352 bytes\n", "", "did not print rem_recv_bytes"},
		{"a field is new", stream, "tcp_bw", "    port ", "    harbour ", "harbour"},
		{"a field twice", stream, "tcp_bw", "    time ", "    timeout ", "timeout"},
		{"a warning", stream, "tcp_bw", "tcp_bw:\n", "tcp_bw:\nwarning: -f1 set but not used in test tcp_bw\n", "warning: -f1 set"},
		{"another test", rr, "udp_lat", "", "", `"udp_lat:", which is unknown`},
		{"for people", rr, "tcp_lat_plain", "", "", `latency in "us", not in "ns"`},
		{"another unit", stream, "tcp_bw", "7461666816 bits/sec", "932708352 bytes/sec", `bw in "bytes/sec", not in "bits/sec"`},
		{"no unit", rr, "tcp_lat", "19283.4278221 ns", "19283.4278221", `latency in "", not in "ns"`},
		{"NaN", rr, "tcp_lat", "19283.4278221", "nan", "latency=nan, which is no figure"},
		{"infinity", stream, "tcp_bw", "7461666816", "inf", "bw=inf, which is no figure"},
		{"negative", rr, "tcp_lat", "19283.4278221", "-19283.4278221", "latency=-19283.4278221, which is no figure"},
		{"zero", stream, "tcp_bw", "7461666816", "0", "bw=0: nothing was measured"},
		{"no count", stream, "tcp_bw", "932708352", "932708352.5", "which is no count"},
		{"counts do not agree", stream, "tcp_bw", "932708352", "432708352", "but counted"},
		{"the whole way", rr, "tcp_lat", "19283.4278221", "38566.8556442", "but counted"},
		{"too large for a datagram", workloadtest.Job(record.UDPStream, record.Options{MessageSize: 70000}), "udp_bw_too_large", "", "", "did not print loc_send_msgs"},
		{"another message size", datagrams, "udp_bw", "   1400 bytes", "   1300 bytes", "wrote 1300 bytes at a time, not 1400"},
		{"an error", stream, "no_server", "", "", "198.18.0.2: failed to connect"},
	})
}

func FuzzParse(f *testing.F) {
	var seeds [][2]string
	for _, file := range []string{"tcp_bw", "tcp_lat", "udp_bw", "udp_lat", "tcp_lat_plain", "no_server"} {
		seeds = append(seeds, [2]string{transcript(f, file)})
	}
	workloadtest.Fuzz(f, Tool, seeds...)
}
