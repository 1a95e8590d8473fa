package netperf

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string {
	return workloadtest.Transcript(t, "2.7.0/"+name+".txt")
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file string
		job  workload.Job
		want figures
	}{
		{"tcp_stream", workloadtest.Job(record.TCPStream, record.Options{}), figures{
			seconds: 1, bytes: 730300416, sent: 730300416, throughput: 5838042510, retransmits: 365, mss: 1448, message: 16384, congestion: "bbr",
		}},
		{"tcp_maerts", workloadtest.Job(record.TCPStream, record.Options{Reverse: true, MessageSize: 4096, Congestion: "reno"}), figures{
			seconds: 1, bytes: 504901632, sent: 505131008, throughput: 4038902020, retransmits: 2, mss: 1448, message: 4096, congestion: "reno",
		}},
		{"tcp_rr", workloadtest.Job(record.TCPRR, record.Options{}), figures{
			seconds: 1, bytes: 74892, transactions: 37446, rate: 37432.377, mss: 1448, congestion: "bbr",
			latency: latencies(26.63, 16, 20, 94, 30637),
		}},
		{"tcp_crr", workloadtest.Job(record.TCPCRR, record.Options{RequestSize: 100, ResponseSize: 200}), figures{
			seconds: 1, bytes: 5741 * 300, transactions: 5741, rate: 5740.414, retransmits: -1,
			latency: latencies(174.09, 64, 144, 2675, 57248),
		}},
		{"udp_stream", workloadtest.Job(record.UDPStream, record.Options{}), figures{
			seconds: 1, bytes: 54394200, sent: 85989400, throughput: 434616840, retransmits: -1, message: 1400,
		}},
		{"udp_rr", workloadtest.Job(record.UDPRR, record.Options{}), figures{
			seconds: 1, bytes: 53894, transactions: 26947, rate: 26945.490, retransmits: -1,
			latency: latencies(37.06, 13, 17, 190, 14911),
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, err := parse(c.job, chatter+"\n"+transcript(t, c.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

// latencies is in microseconds: mean, percentiles 50, 90, 99, and the largest.
func latencies(us ...float64) map[string]float64 {
	all := map[string]float64{}
	for i, name := range []string{record.LatencyMean, record.LatencyP50, record.LatencyP90, record.LatencyP99, record.LatencyMax} {
		all[name] = us[i] / 1e6
	}
	return all
}

func TestResult(t *testing.T) {
	job := workloadtest.Job(record.UDPStream, record.Options{}, workloadtest.Pair("c", "s", "198.18.0.1"), workloadtest.Pair("d", "s", "198.18.0.1"))
	one, err := parse(job, transcript(t, "udp_stream"), "")
	if err != nil {
		t.Fatal(err)
	}
	r := together(job, program.Outcome{}, []figures{one, one})
	for name, want := range map[string]float64{
		record.Throughput: 2 * 434616840, record.PacketRate: 2 * 434616840 / 11200.0, record.Loss: 1 - 54394200.0/85989400,
	} {
		if got := r.Metrics[name].Value; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	job.Workload = record.TCPRR
	if one, err = parse(job, transcript(t, "tcp_rr"), ""); err != nil {
		t.Fatal(err)
	}
	other := one
	other.transactions, other.latency = 3*one.transactions, latencies(46.63, 20, 30, 40, 50000)
	r = together(job, program.Outcome{}, []figures{one, other})
	if got, want := r.Metrics[record.LatencyMean].Value, 41.63e-6; math.Abs(got-want) > 1e-9 {
		t.Errorf("mean of both is %v, want %v: that of all transactions", got, want)
	}
	if got := r.Metrics[record.LatencyMax].Value; got != 50e-3 {
		t.Errorf("the longest of both is %v s", got)
	}
	if _, averaged := r.Metrics[record.LatencyP99]; averaged {
		t.Error("percentiles of two clients were put together")
	}
}

func TestParseRefuses(t *testing.T) {
	stream, rr := workloadtest.Job(record.TCPStream, record.Options{}), workloadtest.Job(record.TCPRR, record.Options{})
	workloadtest.Refuses(t, Tool, "2.7.0/%s.txt", []workloadtest.Refusal{
		{"nothing", stream, "tcp_stream", transcript(t, "tcp_stream"), "", "did not print PROTOCOL"},
		{"a field is missing", stream, "tcp_stream", "REMOTE_BYTES_RECVD=730300416\n", "", "did not print REMOTE_BYTES_RECVD"},
		{"a field is missing", rr, "tcp_rr", "P99_LATENCY=94\n", "", "did not print P99_LATENCY"},
		{"a field is new", stream, "tcp_stream", "ELAPSED", "COLOUR=red\nELAPSED", `"COLOUR=red", which nobody asked for; version 2.7.0 is known`},
		{"a field twice", rr, "tcp_rr", "P99_LATENCY", "P90_LATENCY", "P90_LATENCY twice"},
		{"a banner", stream, "tcp_stream", "PROTOCOL", "MIGRATED TCP STREAM TEST\nPROTOCOL", "MIGRATED"},
		{"another test", rr, "udp_rr", "", "", "PROTOCOL=UDP, not TCP"},
		{"another direction", stream, "tcp_maerts", "", "", "DIRECTION=Receive, not Send"},
		{"another unit", stream, "tcp_stream", "10^3", "10^6", "THROUGHPUT_UNITS=10^6bits/s, not 10^3bits/s"},
		{"NaN", stream, "tcp_stream", "5838042.51", "nan", "THROUGHPUT=nan, which is no figure"},
		{"infinity", rr, "tcp_rr", "26.63", "inf", "MEAN_LATENCY=inf, which is no figure"},
		{"negative", rr, "tcp_rr", "P50_LATENCY=16", "P50_LATENCY=-16", "P50_LATENCY=-16, which is no figure"},
		{"not told", stream, "tcp_stream", "RETRANS=365", "RETRANS=-1", "LOCAL_TRANSPORT_RETRANS=-1"},
		{"zero", stream, "tcp_stream", "5838042.51", "0.00", "THROUGHPUT=0: nothing was measured"},
		{"no time", stream, "tcp_stream", "=1.00", "=0.00", "ELAPSED_TIME=0"},
		{"no count", stream, "tcp_stream", "RECVD=730300416", "RECVD=7.3e8", "REMOTE_BYTES_RECVD=7.3e8, which is no count"},
		{"counts do not agree", stream, "tcp_stream", "RECVD=730300416", "RECVD=430300416", "but its receiver counted"},
		{"transactions do not agree", rr, "tcp_rr", "RECVD=37446", "RECVD=20000", "but received 20000"},
		{"percentiles descend", rr, "tcp_rr", "P90_LATENCY=20", "P90_LATENCY=15", "P90_LATENCY=15, less than a lower percentile"},
		{"a datagram was lost", workloadtest.Job(record.UDPRR, record.Options{}), "udp_rr_lost", "", "", "only 7 % of the time"},
		{"other sizes", workloadtest.Job(record.TCPCRR, record.Options{}), "tcp_crr", "", "", "not 1"},
		{"another message size", workloadtest.Job(record.TCPStream, record.Options{MessageSize: 4096}), "tcp_stream", "", "", "wrote 16384 bytes at a time, not 4096"},
		{"another congestion control", workloadtest.Job(record.TCPStream, record.Options{Congestion: "carrierpigeon"}), "tcp_stream_pigeon", "", "",
			`used the congestion control "bbr", not "carrierpigeon"`},
		{"an error", stream, "no_server", "", "", "are you sure there is a netserver"},
	})
}

func FuzzParse(f *testing.F) {
	var seeds [][2]string
	for _, file := range []string{"tcp_stream", "tcp_rr", "tcp_crr", "udp_stream", "udp_rr", "udp_rr_lost", "no_server"} {
		seeds = append(seeds, [2]string{transcript(f, file)})
	}
	slow := strings.NewReplacer("RECVD=37446", "RECVD=0", "RATE=37432.377", "RATE=1.0", "MEAN_LATENCY=26.63", "MEAN_LATENCY=600000")
	seeds = append(seeds, [2]string{slow.Replace(transcript(f, "tcp_rr"))}) // no transaction, at one a second
	nothingSent := strings.Replace(transcript(f, "udp_stream"), "LOCAL_BYTES_SENT=85989400", "LOCAL_BYTES_SENT=0", 1)
	seeds = append(seeds, [2]string{nothingSent})
	workloadtest.Fuzz(f, Tool, seeds...)
}
