package iperf3

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "-s -1") }

func TestArguments(t *testing.T) {
	const server, head, end = "-s -1 -J -B 198.18.0.2 -p 20002 -i 1", "-J -c 198.18.0.1 -p 20002 -t 2 -i 1", " --connect-timeout 8000"
	job := func(load string, o record.Options, pairs ...workload.Pair) workload.Job {
		j := workloadtest.Job(load, o, pairs...)
		j.Duration = 1500 * time.Millisecond
		return j
	}
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"tcp", job(record.TCPStream, record.Options{}), server, head + end},
		{"tcp with all", workloadtest.Warm(job(record.TCPStream, record.Options{Streams: 4, MessageSize: 65536, Window: 131072, Congestion: "reno", ZeroCopy: true, Reverse: true},
			workloadtest.Pair("c", "s", "2001:2::1")), 200*time.Millisecond), "-s -1 -J -B 2001:2::2 -p 20002 -i 1",
			"-J -c 2001:2::1 -p 20002 -t 2 -i 1 --connect-timeout 8000 -O 1 -P 4 -l 65536 -w 131072 -C reno -Z -R"},
		{"bidir", workloadtest.Warm(job(record.TCPBidir, record.Options{}), time.Second), server, head + end + " -O 1 --bidir"},
		{"udp as fast as it goes", job(record.UDPStream, record.Options{}), server, head + end + " -u -b 0 --get-server-output -l 1300"},
		{"udp paced", job(record.UDPStream, record.Options{Bandwidth: 5_000_000, MessageSize: 1000, Streams: 2}), server,
			head + end + " -u -b 5000000 --get-server-output -P 2 -l 1000"},
		{"udp reverse", job(record.UDPStream, record.Options{Reverse: true}), server, head + end + " -u -b 0 -l 1300 -R"},
	})
}

// TestIntervals checks that the output of a long trial with many streams is not too long to be read, nor an interval for iperf3.
func TestIntervals(t *testing.T) {
	for window, want := range map[time.Duration]string{time.Second: "1", 30 * time.Second: "1", 31 * time.Second: "2", 100 * time.Second: "4", time.Hour: "60"} {
		for _, load := range []string{record.TCPStream, record.UDPStream} {
			for _, warmup := range []time.Duration{0, time.Second} {
				want := want
				if load == record.UDPStream && warmup > 0 && window == time.Hour { // the warm-up is as long
					want = "10"
				}
				job := workloadtest.Warm(workloadtest.Job(load, record.Options{Streams: 128}), warmup)
				job.Duration = window
				server, client := workloadtest.Started(t, Tool, job, 0)
				for _, args := range [][]string{server.Command.Args, client.Command.Args} {
					if at := slices.Index(args, "-i"); at < 0 || args[at+1] != want {
						t.Errorf("%s, %v after %v: %v, want intervals of %s s", load, window, warmup, args, want)
					}
				}
				// Datagrams that were sent in an interval in which the warm-up ends would count.
				lead := want
				if load == record.TCPStream {
					lead = "1"
				}
				if at := slices.Index(client.Command.Args, "-O"); warmup > 0 && (at < 0 || client.Command.Args[at+1] != lead) || warmup == 0 && at >= 0 {
					t.Errorf("%s, %v after %v: %v, want a warm-up of %s s", load, window, warmup, client.Command.Args, lead)
				}
			}
		}
	}
}

// TestCPUs checks that a client and its server get one CPU each for one stream, and all of theirs for several.
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
		"iperf 3.6 (cJSON 1.5.2)":                       "", // does not know --bidir
		"iperf version 2.1.8 (12 August 2022) pthreads": "",
		"lorem ipsum":                                   "",
	})
}

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

// jobOf returns a job with the given number of streams.
func jobOf(load string, streams int) workload.Job {
	return workloadtest.Job(load, record.Options{Streams: streams})
}

// TestMeasures has datagrams of which the program reports 48864 as lost at the end, including those
// of the warm-up.
func TestMeasures(t *testing.T) {
	workloadtest.Measures(t, Tool, "%s.json", []workloadtest.Case{
		{"3.12 tcp", jobOf(record.TCPStream, 1), "3.12/tcp", "", "",
			"1.015635s 779351104 B [{779351104 1}] retransmits=772 throughput=6.138828e+09 779351104 B/0 by 131072 B (772 RTX 529 µs 1448 bbr)"},
		{"3.12 tcp6", jobOf(record.TCPStream, 1), "3.12/tcp6", "", "",
			"1.002256s 1338376192 B [{1338376192 1}] retransmits=24096 throughput=1.068291e+10 1338376192 B/0 by 131072 B (24096 RTX 101 µs 1428 bbr)"},
		{"3.12 tcp parallel", jobOf(record.TCPStream, 3), "3.12/tcp-parallel", "", "",
			"2.00009s 1202542184 B [{1202542184 3}] retransmits=86 throughput=4.809952e+09 406678464 B/0 by 65536 B (28 RTX 349 µs 1448 reno) 401567480 " +
				"B/0 by 65536 B (33 RTX 352 µs 1448 reno) 394296240 B/0 by 65536 B (25 RTX 347 µs 1448 reno) other-window: 1 of 1 clients measured windows " +
				"of 2.00 to 2.00 s "},
		{"3.12 tcp reverse", jobOf(record.TCPStream, 2), "3.12/tcp-reverse", "", "",
			"1.003943s 869662720 B [{869662720 2}] retransmits=2 throughput=6.929977e+09 437387264 B/0 by 131072 B 432275456 B/0 by 131072 B"},
		{"3.12 tcp bidir", jobOf(record.TCPBidir, 2), "3.12/tcp-bidir", "", "",
			"1.007705s 1215037440 B [{1215037440 4}] retransmits=4 throughput=9.645977e+09 397410304 B/0 by 131072 B (0 RTX 1613 µs 1448 bbr) 209453056 " +
				"B/0 by 131072 B 418381824 B/0 by 131072 B (1 RTX 1858 µs 1448 bbr) 189792256 B/0 by 131072 B"},
		{"3.12 udp", jobOf(record.UDPStream, 1), "3.12/udp", "", "",
			"1.015797s 2498000 B [{2498000 1}] jitter=1.472802e-05 loss=0 packet_rate=2459.153 throughput=1.967322e+07 2498000 B/0 by 1000 B"},
		{"3.12 udp reverse", jobOf(record.UDPStream, 1), "3.12/udp-reverse", "", "",
			"1.000103s 2499000 B [{2499000 1}] jitter=1.91648e-05 loss=0 packet_rate=2498.743 throughput=1.998994e+07 2499000 B/0 by 1000 B"},
		{"3.12 udp unlimited", jobOf(record.UDPStream, 2), "3.12/udp-unlimited", "", "",
			"1.000254999s 114200864 B [{114200864 2}] jitter=5.137932e-05 loss=0.229594 packet_rate=78847.89 throughput=9.13374e+08 57103328 B/0 by 1448 " +
				"B 57097536 B/0 by 1448 B"},
		{"3.18 tcp", jobOf(record.TCPStream, 1), "3.18/tcp", "", "",
			"1.004823999s 1522270208 B [{1522270208 1}] retransmits=878 throughput=1.21197e+10 1522270208 B/0 by 131072 B (878 RTX 783 µs 1448 bbr)"},
		{"3.18 tcp6", jobOf(record.TCPStream, 1), "3.18/tcp6", "", "",
			"1.003068s 1260126208 B [{1260126208 1}] retransmits=31340 throughput=1.005018e+10 1260126208 B/0 by 131072 B (31340 RTX 117 µs 1428 bbr)"},
		{"3.18 tcp parallel", jobOf(record.TCPStream, 3), "3.18/tcp-parallel", "", "",
			"2.001971s 11613569024 B [{11613569024 3}] retransmits=1 throughput=4.640854e+10 3906797568 B/0 by 65536 B (0 RTX 100 µs 1448 reno) " +
				"3418947584 B/0 by 65536 B (0 RTX 95 µs 1448 reno) 4287823872 B/0 by 65536 B (1 RTX 41 µs 1448 reno) other-window: 1 of 1 clients measured " +
				"windows of 2.00 to 2.00 s "},
		{"3.18 tcp reverse", jobOf(record.TCPStream, 2), "3.18/tcp-reverse", "", "",
			"1.000594999s 2242772992 B [{2242772992 2}] retransmits=204 throughput=1.793151e+10 1109393408 B/0 by 131072 B 1133379584 B/0 by 131072 B"},
		{"3.18 tcp bidir", jobOf(record.TCPBidir, 2), "3.18/tcp-bidir", "", "",
			"1.00745s 1295122432 B [{1295122432 4}] retransmits=198 throughput=1.028436e+10 278528000 B/0 by 131072 B (78 RTX 805 µs 1448 bbr) 410648576 " +
				"B/0 by 131072 B 330563584 B/0 by 131072 B (48 RTX 1351 µs 1448 bbr) 275382272 B/0 by 131072 B"},
		{"3.18 udp", jobOf(record.UDPStream, 1), "3.18/udp", "", "",
			"1.000718999s 2501000 B [{2501000 1}] jitter=5.055001e-05 loss=0 packet_rate=2499.203 throughput=1.999362e+07 2501000 B/0 by 1000 B"},
		{"3.18 udp reverse", jobOf(record.UDPStream, 1), "3.18/udp-reverse", "", "",
			"1.000887s 2502000 B [{2502000 1}] jitter=1.521011e-05 loss=0 packet_rate=2499.783 throughput=1.999826e+07 2502000 B/0 by 1000 B"},
		{"3.18 udp unlimited", jobOf(record.UDPStream, 2), "3.18/udp-unlimited", "", "",
			"999.988ms 232123088 B [{232123088 2}] jitter=1.098245e-05 loss=0.3939373 packet_rate=160307.9 throughput=1.857007e+09 101555480 B/0 by 1448 " +
				"B 130567608 B/0 by 1448 B"},
		{"retransmits that nobody tells", jobOf(record.TCPStream, 1), "3.12/tcp", "retransmits", "retries",
			"1.015635s 779351104 B [{779351104 1}] throughput=6.138828e+09 779351104 B/0 by 131072 B"},
		{"tcp of two clients", workloadtest.Clients(record.TCPStream, record.Options{}, 2), "3.12/tcp+3.12/tcp6", "", "",
			"1.007138455s 2117727296 B [{779351104 1} {1338376192 1}] retransmits=24868 throughput=1.682174e+10 779351104 B/0 by 131072 B (772 RTX 529 µs " +
				"1448 bbr) 1338376192 B/0 by 131072 B (24096 RTX 101 µs 1428 bbr)"},
		{"udp of two clients", workloadtest.Clients(record.UDPStream, record.Options{}, 2), "3.12/udp+3.12/udp-reverse", "", "",
			"1.00788734s 4997000 B [{2498000 1} {2499000 1}] jitter=1.694641e-05 loss=0 packet_rate=4957.895 throughput=3.966316e+07 2498000 B/0 by 1000 " +
				"B 2499000 B/0 by 1000 B"},
		// A datagram was under way when the window opened: more arrived in it than were sent.
		{"more than were sent", jobOf(record.UDPStream, 1), "3.12/udp", "\"packets\":\t2461", "\"packets\":\t2400",
			"1.015797s 2498000 B [{2498000 1}] jitter=1.472802e-05 loss=0 packet_rate=2459.153 throughput=1.967322e+07 2498000 B/0 by 1000 B"},
	})
	// They do not make up for what other clients lost.
	f, err := parse(jobOf(record.UDPStream, 1), workloadtest.Altered(t, transcript(t, "3.12/udp.json"), "\"packets\":\t2461", "\"packets\":\t2400"), "")
	if err != nil || f.Sent != 2498 || f.Lost != 0 {
		t.Errorf("%v lost of %v, %v", f.Lost, f.Sent, err)
	}
}

func TestParseTCPInfo(t *testing.T) {
	f, err := parse(jobOf(record.TCPStream, 3), transcript(t, "3.12/tcp-parallel.json"), "")
	iferr.Fatal(t, err)
	want := record.TCPInfo{Retransmits: 28, RTT: 349, RTTVar: 113, Cwnd: 569064 / 1448, SndMSS: 1448, PMTU: 1500, Congestion: "reno"}
	if got := f.Flows[0].TCP; got == nil || *got != want || f.busy[0] <= 0 || f.busy[1] <= 0 {
		t.Errorf("%+v, want %+v; CPUs %v", got, want, f.busy)
	}
}

// TestFewerOfTwoDirections: the path is proved in the direction that had less, here the server's.
func TestFewerOfTwoDirections(t *testing.T) {
	f, err := parse(jobOf(record.TCPBidir, 2), transcript(t, "3.12/tcp-bidir.json"), "")
	if want := uint64(209453056 + 189792256); err != nil || f.Crossed.Fewer != want {
		t.Errorf("%d bytes, want %d, %v", f.Crossed.Fewer, want, err)
	}
}

func TestParseErrors(t *testing.T) {
	tcp, udp := transcript(t, "3.12/tcp.json"), transcript(t, "3.18/udp.json")
	without := func(text, pattern string) string { return regexp.MustCompile(pattern).ReplaceAllString(text, "") }
	replaced := func(text, old, new string) string { return workloadtest.Altered(t, text, old, new) }
	sum := strings.Index(tcp, "sum_received")
	for _, c := range []struct {
		name, load, text, want string
	}{
		{"refused by 3.12", record.TCPStream, transcript(t, "3.12/refused.json"), "unable to connect to server: Connection refused"},
		{"refused by 3.18", record.TCPStream, transcript(t, "3.18/refused.json"), "unable to connect to server - server may have stopped running"},
		{"busy", record.TCPStream, transcript(t, "3.12/busy.json"), "the server is busy running a test"},
		{"busy 3.18", record.TCPStream, transcript(t, "3.18/busy.json"), "the server is busy running a test"},
		{"server killed", record.TCPStream, transcript(t, "3.12/server-killed.json"), "control socket has closed unexpectedly"},
		{"server killed 3.18", record.TCPStream, transcript(t, "3.18/server-killed.json"), "control socket has closed unexpectedly"},
		{"unknown congestion control", record.TCPStream, transcript(t, "3.12/congestion.json"), "unable to set TCP_CONGESTION"},
		{"empty", record.TCPStream, "", "did not print iperf3's JSON"},
		{"nan", record.TCPStream, tcp + "nan", "did not print iperf3's JSON"},
		{"NaN as a number", record.TCPStream, replaced(tcp, "1.015635", "nan"), "did not print iperf3's JSON"},
		{"cut off", record.TCPStream, tcp[:len(tcp)/2], "did not print iperf3's JSON"},
		{"another program", record.TCPStream, "{}", `unknown version ""`},
		{"another version", record.TCPStream, replaced(tcp, "iperf 3.12", "iperf 4.0"), `unknown version "iperf 4.0": tested with 3.12 and 3.18`},
		{"another protocol", record.UDPStream, tcp, `1 streams of "TCP"`},
		{"datagrams of an old version", record.UDPStream, replaced(udp, "iperf 3.18", "iperf 3.9"), "needs iperf3 3.11 or later"},
		{"one direction", record.TCPBidir, tcp, "end: 1 streams, want 2"},
		{"no sum_received", record.TCPStream, replaced(tcp, "sum_received", "sum_got"), "no field sum_received"},
		{"no bytes", record.TCPStream, without(tcp, `"bytes":\s*779351104,`), "no field bytes of a receiver"},
		{"no seconds", record.TCPStream, without(tcp, `"seconds":\s*[0-9.]+,`), "no field sum_received: seconds"},
		{"no CPU", record.TCPStream, replaced(tcp, "host_total", "total"), "no field cpu_utilization_percent"},
		{"negative", record.TCPStream, replaced(tcp, "779351104", "-1"), "bytes of a receiver is -1"},
		{"too many", record.TCPStream, replaced(tcp, "779351104", "1.8446744073709552e+19"), "bytes of a receiver is 1.8"},
		{"parts and sum differ", record.TCPStream, tcp[:sum] + strings.ReplaceAll(tcp[sum:], "779351104", "12345"), "its parts are"},
		{"no server's output", record.UDPStream, replaced(udp, "server_output_json", "server_output_text"), "no field server_output_json"},
		{"no packets", record.UDPStream, replaced(udp, `"packets"`, `"frames"`), "no field packets"},
		{"no lost packets", record.UDPStream, replaced(udp, `"lost_packets"`, `"lost"`), "no field lost_packets"},
		{"no jitter", record.UDPStream, replaced(udp, `"jitter_ms"`, `"jitter"`), "no field sum_received: jitter_ms"},
		{"no datagram size", record.UDPStream, replaced(udp, `"blksize"`, `"size"`), "no field blksize"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := parse(jobOf(c.load, 1), c.text, "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, error %v\ndoes not say %s", f, err, c.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	if got := explain(`{"error": "unable to create a new stream: Read-only file system"}`); !strings.HasSuffix(got, "let TMPDIR name a folder that has room") {
		t.Errorf("without a folder for temporary files: %q", got)
	}
	if got := explain(transcript(t, "3.18/busy.json")); got != "the server is busy running a test. try again later" {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"", "lorem ipsum", transcript(t, "3.12/tcp.json")} {
		if got := explain(text); got != "" {
			t.Errorf("%q of %.20q", got, text)
		}
	}
}

func TestMinor(t *testing.T) {
	for text, want := range map[string]int{
		"iperf 3.12 (cJSON 1.7.15)\nLinux": 12, "iperf 3.18": 18, "iperf 3.1.7": 1,
		"iperf version 2.1.8 (12 August 2022) pthreads": -1, "iperf 4.0": -1, "": -1,
	} {
		n, ok := minor(text)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q: 3.%d, want 3.%d", text, n, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/3.12/*.json", "testdata/3.18/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no transcripts %s: %v", pattern, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			iferr.Fatal(f, err)
			f.Add(string(b), strings.Contains(name, "udp"), strings.Contains(name, "bidir"), 1+len(name)%3)
		}
	}
	f.Fuzz(func(t *testing.T, text string, udp, bidir bool, streams int) {
		load := record.TCPStream
		flows := streams
		if udp {
			load = record.UDPStream
		} else if bidir {
			load, flows = record.TCPBidir, 2*streams
		}
		if streams < 1 || streams > 100 {
			return
		}
		got, err := parse(jobOf(load, streams), text, "")
		if err != nil {
			return
		}
		if _, counted := got.Sums[record.PacketRate]; !(got.seconds > 0) || len(got.Flows) != flows || udp != counted {
			t.Errorf("%+v", got)
		}
		for _, s := range got.Flows {
			if s.Bytes == 0 {
				t.Errorf("a stream of nothing: %+v", got)
			}
		}
	})
}

func TestOtherWindows(t *testing.T) {
	for _, c := range []struct {
		seconds []float64
		want    string // in the warning
	}{
		{[]float64{0.91, 1.09}, ""},
		{[]float64{1, 0.41}, "1 of 2 clients measured windows of 0.41 to 1.00 s instead of 1s"},
		{[]float64{3.02}, "1 of 1 clients"},
	} {
		all := record.Each(c.seconds, func(s float64) figures { return figures{seconds: s} })
		r := together(workloadtest.Clients(record.TCPStream, record.Options{}, len(all)), program.Outcome{}, all)
		if len(r.Warnings) != min(len(c.want), 1) || c.want != "" && (r.Warnings[0].Code != "other-window" || !strings.HasPrefix(r.Warnings[0].Text, c.want)) {
			t.Errorf("%v s: %v", c.seconds, r.Warnings)
		}
	}
}

func TestOneThreadForAllStreams(t *testing.T) {
	for _, c := range []struct {
		name  string
		load  string
		flows int
		minor int
		busy  [2]float64
		want  int
	}{
		{"all idle", record.TCPStream, 4, 12, [2]float64{0.5, 0.94}, 0},
		{"server has no time left", record.TCPStream, 4, 12, [2]float64{0.5, 0.95}, 1},
		{"both", record.TCPStream, 4, 15, [2]float64{1, 1}, 2},
		{"threads", record.TCPStream, 4, 16, [2]float64{1, 3}, 0},
		{"one stream", record.TCPStream, 1, 12, [2]float64{1, 1}, 0},
		{"one stream each way", record.TCPBidir, 2, 12, [2]float64{1, 0}, 1},
	} {
		f := figures{seconds: 1, minor: c.minor, busy: c.busy}
		f.Flows = make([]record.Flow, c.flows)
		r := together(jobOf(c.load, 1), program.Outcome{}, []figures{f})
		if len(r.Warnings) != c.want {
			t.Errorf("%s: %v", c.name, r.Warnings)
		}
		for _, w := range r.Warnings {
			if w.Code != "generator-limited" {
				t.Errorf("%s: %v", c.name, w)
			}
		}
	}
}
