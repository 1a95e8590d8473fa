package sockperf

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string {
	return workloadtest.Transcript(t, "3.7/"+name+".txt")
}

// micro is latencies in microseconds: mean, percentiles 50, 90, 99, 99.9, and the
// largest.
func micro(us ...float64) map[string]float64 {
	all := map[string]float64{record.LatencyMean: us[0] / 1e6}
	for i, l := range latencies {
		all[l.metric] = us[i+1] / 1e6
	}
	return all
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file string
		job  workload.Job
		want figures
	}{
		{"tcp_rr", workloadtest.Job(record.TCPRR, record.Options{}), figures{
			seconds: 1.464, sent: 29671, received: 29671, all: 34779, latency: micro(49.322, 14.020, 15.482, 1028.606, 5024.557, 28562.533),
		}},
		{"udp_rr", workloadtest.Job(record.UDPRR, record.Options{RequestSize: 100}), figures{
			seconds: 1.463, sent: 33096, received: 33096, all: 47638, latency: micro(44.171, 13.209, 17.936, 340.213, 4125.176, 75491.441),
		}},
		{"paced_rr", workloadtest.Job(record.PacedRR, record.Options{}), figures{
			seconds: 1.548, sent: 1548, received: 1548, all: 2000, latency: micro(1422.831, 120.452, 3047.824, 15127.482, 15171.147, 33494.959),
		}},
		{"throughput", workloadtest.Job(record.UDPStream, record.Options{}), figures{seconds: 1, sent: 33492, received: 25320, all: 25320}},
		{"throughput_paced", workloadtest.Job(record.UDPStream, record.Options{MessageSize: 1000}), figures{seconds: 1.003, sent: 4979, received: 4979, all: 4979}},
	} {
		t.Run(c.file, func(t *testing.T) {
			server := ""
			if strings.HasPrefix(c.file, "throughput") {
				server = transcript(t, c.file+"_server")
			}
			got, err := parse(c.job, transcript(t, c.file), server)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestResult(t *testing.T) {
	job := workloadtest.Job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}, workloadtest.Pair("c", "s", "198.18.0.1"), workloadtest.Pair("d", "s", "198.18.0.1"))
	job.Warmup = time.Second
	r := together(job, program.Outcome{}, []figures{{seconds: 1, sent: 5000, received: 4000, all: 4000}, {seconds: 2, sent: 9000, received: 9000, all: 9000}})
	for name, want := range map[string]float64{record.PacketRate: 8500, record.Throughput: 68e6, record.Loss: 1.0 / 14} {
		if got := r.Metrics[name].Value; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if r.Bytes != 13e6 || r.Flows[1].Bytes != 9e6 || r.Window.Round(time.Millisecond) != 1529*time.Millisecond {
		t.Errorf("%d bytes, flows %+v, window %v", r.Bytes, r.Flows, r.Window)
	}
	if got := workloadtest.Codes(r); got != "no-warmup pace-missed" { // 4750 on average instead of 5000
		t.Errorf("warnings %s", got)
	}
	job = workloadtest.Job(record.PacedRR, record.Options{Rate: 100}, workloadtest.Pair("c", "s", "198.18.0.1"), workloadtest.Pair("d", "s", "198.18.0.1"))
	one := figures{seconds: 1, sent: 100, received: 100, all: 150, latency: micro(10, 9, 12, 20, 30, 40)}
	two := figures{seconds: 1, sent: 101, received: 50, all: 50, unanswered: 51, latency: micro(40, 9, 12, 20, 30, 50)}
	r = together(job, program.Outcome{}, []figures{one, two})
	if got, want := r.Metrics[record.LatencyMean].Value, 20e-6; math.Abs(got-want) > 1e-12 {
		t.Errorf("mean of both is %v, want %v: that of all transactions", got, want)
	}
	if got := r.Metrics[record.LatencyMax].Value; got != 50e-6 {
		t.Errorf("the longest of both is %v s", got)
	}
	if _, averaged := r.Metrics[record.LatencyP99]; averaged {
		t.Error("percentiles of two clients were put together")
	}
	if got := workloadtest.Codes(r); got != "unanswered" || r.Bytes != 150*28 || r.Crossed[0].Bytes != 150*28 {
		t.Errorf("warnings %s, %d bytes, crossed %+v", got, r.Bytes, r.Crossed)
	}
	if r = together(job, program.Outcome{}, []figures{one}); r.Metrics[record.LatencyP99].Value != 20e-6 {
		t.Errorf("metrics of one client: %v", r.Metrics)
	}
}

func TestParseRefuses(t *testing.T) {
	rr, stream := workloadtest.Job(record.TCPRR, record.Options{}), workloadtest.Job(record.UDPStream, record.Options{})
	longer := rr
	longer.Duration = 3 * time.Second
	workloadtest.Refuses(t, Tool, "3.7/%s.txt", []workloadtest.Refusal{
		{"nothing", rr, "tcp_rr", transcript(t, "tcp_rr"), "", "printed the total run 0 times; version 3.7 is known"},
		{"half the way", rr, "tcp_rr_half", "", "", "printed the mean round trip 0 times"},
		{"a line is missing", rr, "tcp_rr", "percentile 99.000", "percentile 98.000", "the 99th percentile 0 times"},
		{"a line twice", rr, "tcp_rr", "percentile 99.900", "percentile 99.000", "the 99th percentile 2 times"},
		{"other words", rr, "tcp_rr", "ReceivedMessages=29671", "GotMessages=29671", "the valid duration 0 times"},
		{"NaN", rr, "tcp_rr", "avg-rtt=49.322", "avg-rtt=nan", `"nan" of the mean round trip`},
		{"infinity", rr, "tcp_rr", "= 28562.533\nsockperf: ---> percentile 99.999", "= inf\nsockperf: ---> percentile 99.999", `"inf" of the longest round trip`},
		{"negative", rr, "tcp_rr", "50.000 =   14.020", "50.000 =   -14.020", `"-14.020" of the 50th percentile`},
		{"zero", rr, "tcp_rr", "avg-rtt=49.322", "avg-rtt=0.000", "the mean round trip is 0"},
		{"no answers", rr, "tcp_rr", "ReceivedMessages=29671", "ReceivedMessages=0", "0 of 34779 answers came"},
		{"percentiles descend", rr, "tcp_rr", "90.000 =   15.482", "90.000 =   13.482", "the 90th percentile is 13.482 µs, and a lower one 14.02"},
		{"lost", workloadtest.Job(record.UDPRR, record.Options{}), "udp_rr_lost", "", "", "No valid observations found"},
		{"stopped", rr, "tcp_rr", "RunTime=1.464", "RunTime=0.464", "0.464 s of 1.550"},
		{"another time", longer, "tcp_rr", "", "", "ran for 2.016 s, and was asked for 4"},
		{"another clock", rr, "tcp_rr", "RunTime=2.016", "RunTime=4.016", "ran for 4.016 s, and was asked for 2"},
		{"refused", rr, "refused", "", "", "ERROR: Can`t connect socket (errno=111 Connection refused)"},
		{"no server", workloadtest.Job(record.UDPRR, record.Options{}), "udp_rr_no_server", "", "", "No messages were received from the server"},
		{"a silent server", stream, "throughput refused", "", "", "server: sockperf says ERROR"},
		{"an idle server", stream, "throughput throughput_server_idle", "", "", "No messages were received on the server"},
		{"no count of the server", stream, "throughput throughput", "", "", "what the server received 0 times"},
		{"nothing sent", stream, "throughput throughput_server", "Total of 33492", "Total of 0", "25320 of 0 messages"},
		{"a short stream", stream, "throughput throughput_server", "1.000 sec", "0.200 sec", "0.200 s of 1.000"},
	})
}

func FuzzParse(f *testing.F) {
	var seeds [][2]string
	for _, file := range []string{"tcp_rr", "paced_rr", "throughput", "tcp_rr_half", "refused"} {
		seeds = append(seeds, [2]string{transcript(f, file), transcript(f, "throughput_server")})
	}
	workloadtest.Fuzz(f, Tool, seeds...)
}
