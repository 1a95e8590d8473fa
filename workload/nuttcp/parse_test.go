package nuttcp

import (
	"math"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string {
	return workloadtest.Transcript(t, "6.1.2/"+name+".txt")
}

// job is one with a warm-up, of a second as nuttcp knows it.
func job(load string, o record.Options, pairs ...workload.Pair) workload.Job {
	return workloadtest.Warm(workloadtest.Job(load, o, pairs...), 200*time.Millisecond)
}

// mebibytes is bytes of nuttcp's megabytes.
func mebibytes(n float64) uint64 { return uint64(n * megabyte) }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file string
		job  workload.Job
		want figures
	}{
		{"tcp", job(record.TCPStream, record.Options{}), figures{
			seconds: 0.9995083, bytes: mebibytes(592.5), all: mebibytes(2053.125), roundTrip: 96e-6, mss: 1448,
		}},
		{"tcp_reverse", job(record.TCPStream, record.Options{Reverse: true, MessageSize: 4096}), figures{
			seconds: 1.0001928, bytes: mebibytes(58.3203), all: mebibytes(182.3350), roundTrip: 69e-6, mss: 1448,
		}},
		{"udp", job(record.UDPStream, record.Options{}), figures{
			seconds: 1.0200392, bytes: (26946 - 5316) * 1400, all: mebibytes(100.1705), packets: 26946, drops: 5316,
		}},
		{"udp_paced", job(record.UDPStream, record.Options{MessageSize: 1000}), figures{
			seconds: 1.0813397, bytes: (5807 - 2032) * 1000, all: mebibytes(11.6577), packets: 5807, drops: 2032,
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got, err := parse(c.job, transcript(t, c.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.seconds-c.want.seconds) < 1e-4 {
				got.seconds = c.want.seconds
			}
			if math.Abs(got.roundTrip-c.want.roundTrip) < 1e-12 {
				got.roundTrip = c.want.roundTrip
			}
			if got != c.want {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestParseWindow holds that the window is what was asked for, no more.
func TestParseWindow(t *testing.T) {
	whole := func(lead, window time.Duration) workload.Job {
		j := workloadtest.Warm(job(record.TCPStream, record.Options{}), lead*time.Second)
		j.Duration = window * time.Second
		return j
	}
	for _, c := range []struct {
		lead, window time.Duration // seconds
		mebibytes    float64
	}{{0, 1, 868.375}, {2, 1, 589.3125}, {0, 2, 868.375 + 592.5}, {0, 3, 868.375 + 592.5 + 589.3125}} {
		m, err := parse(whole(c.lead, c.window), transcript(t, "tcp"), "")
		if err != nil || m.bytes != mebibytes(c.mebibytes) {
			t.Errorf("%d s after %d: %d bytes, want %v MiB; error %v", c.window, c.lead, m.bytes, c.mebibytes, err)
		}
	}
	_, err := parse(whole(2, 2), transcript(t, "tcp"), "")
	if err == nil || !strings.Contains(err.Error(), "reported 3 seconds, 4 are wanted") {
		t.Errorf("error %v", err)
	}
}

func TestResult(t *testing.T) {
	job := job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 50e6}, workloadtest.Pair("c", "s", "198.18.0.1"), workloadtest.Pair("d", "s", "198.18.0.1"))
	r := together(job, program.Outcome{}, []figures{
		{seconds: 1, bytes: 4e6, all: 5e6, packets: 5000, drops: 1000}, {seconds: 2, bytes: 10e6, all: 10e6, packets: 10000},
	})
	for name, want := range map[string]float64{record.PacketRate: 9000, record.Throughput: 72e6, record.Loss: 1.0 / 15} {
		if got := r.Metrics[name].Value; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if _, told := r.Metrics[record.Retransmits]; told || r.Flows[0].TCP != nil {
		t.Error("datagrams are retransmitted")
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "pace-missed" { // 80 instead of 100 Mbit/s
		t.Errorf("warnings %v", r.Warnings)
	}
	job.Options.Bandwidth = 40e6
	if r = together(job, program.Outcome{}, []figures{{seconds: 1, bytes: 4e6, packets: 5000, drops: 1000}}); len(r.Warnings) != 0 {
		t.Errorf("lost datagrams were offered, too: %v", r.Warnings)
	}
	job.Workload = record.TCPStream
	one := figures{seconds: 1, bytes: 1e6, all: 2e6, retransmits: 3, roundTrip: 96e-6, mss: 1448}
	r = together(job, program.Outcome{}, []figures{one, one})
	if got := r.Metrics[record.Retransmits].Value; got != 6 {
		t.Errorf("%v retransmits", got)
	}
	if got := *r.Flows[0].TCP; got != (record.TCPInfo{Retransmits: 3, RTT: 96, SndMSS: 1448}) || r.Crossed[1].Bytes != 2e6 {
		t.Errorf("TCP %+v, crossed %+v", got, r.Crossed)
	}
}

func TestParseRefuses(t *testing.T) {
	stream, datagrams := job(record.TCPStream, record.Options{}), job(record.UDPStream, record.Options{})
	workloadtest.Refuses(t, Tool, "6.1.2/%s.txt", []workloadtest.Refusal{
		{"nothing", stream, "tcp", transcript(t, "tcp"), "", "not "},
		{"for people", stream, "tcp_brief", "", "", `"  550.0625 MB /   1.00 sec = 4610.9711 Mbps`},
		{"a field is missing", stream, "tcp", "nuttcp-t: retrans=0\n", "", "did not print retrans"},
		{"a field is missing in the window", stream, "tcp", " rate_Mbps=4972.6769", "", "did not print rate_Mbps"},
		{"a field is new", stream, "tcp", "reporting_interval", "repeating_interval", "repeating_interval=1.00\", which is unknown; version 6.1.2 is known"},
		{"a report is missing", stream, "tcp", "megabytes=868.3750 real_sec=1.00 rate_Mbps=7277.7256 retrans=0\nmegabytes=592.5000 real_sec=1.00 rate_Mbps=4972.6769 retrans=0\n", "", "reported 1 seconds, 2 are wanted"},
		{"another protocol", stream, "udp", "", "", "mode=udp, not tcp"},
		{"several streams", stream, "tcp_two_streams", "", "", "nstream=2, not 1"},
		{"another message size", job(record.TCPStream, record.Options{MessageSize: 4096}), "tcp", "", "", "buflen=65536, not 4096"},
		{"NaN", stream, "tcp", "rate_Mbps=4972.6769", "rate_Mbps=nan", "rate_Mbps=nan, which is no figure"},
		{"infinity", stream, "tcp", "real_sec=1.00 rate_Mbps=4972.6769", "real_sec=inf rate_Mbps=4972.6769", "real_sec=inf, which is no figure"},
		{"negative", stream, "tcp", "megabytes=592.5000", "megabytes=-592.5000", "megabytes=-592.5000, which is no figure"},
		{"zero", stream, "tcp", "megabytes=592.5000 real_sec=1.00 rate_Mbps=4972.6769", "megabytes=0.0000 real_sec=1.00 rate_Mbps=0.0000", "received 0 bytes in the window"},
		{"rate and size do not agree", stream, "tcp", "megabytes=592.5000", "megabytes=292.5000", "4972.6769 Mbit/s, but received 292.5 MiB in 1 s"},
		{"more than all", stream, "tcp", "megabytes=2053.1250", "megabytes=53.1250", "bytes in the window, and 55705600 in all"},
		{"no count", datagrams, "udp", "pkt=26946", "pkt=26946.5", "pkt=26946.5, which is no count"},
		{"more dropped than sent", datagrams, "udp", "drop=5316", "drop=50000", "50000 of 26946 datagrams are missing"},
		{"an error", stream, "no_server", "", "", "connect failed: Connection refused"},
	})
}

func FuzzParse(f *testing.F) {
	var seeds [][2]string
	for _, file := range []string{"tcp", "tcp_reverse", "tcp_brief", "no_server", "udp"} {
		seeds = append(seeds, [2]string{transcript(f, file)})
	}
	workloadtest.Fuzz(f, Tool, seeds...)
}
