package iperf3

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func transcript(t testing.TB, name string) string { return workloadtest.Transcript(t, name) }

// jobOf is one with so many streams.
func jobOf(load string, streams int) workload.Job {
	return workloadtest.Job(load, record.Options{Streams: streams})
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name        string
		load        string
		seconds     float64
		bytes       []uint64 // by stream
		retransmits uint64
		sent        uint64 // datagrams
		received    uint64
		jitter      float64
	}{
		{"3.12/tcp", record.TCPStream, 1.015635, []uint64{779351104}, 772, 0, 0, 0},
		{"3.12/tcp6", record.TCPStream, 1.002256, []uint64{1338376192}, 24096, 0, 0, 0},
		{"3.12/tcp-parallel", record.TCPStream, 2.00009, []uint64{406678464, 401567480, 394296240}, 86, 0, 0, 0},
		{"3.12/tcp-reverse", record.TCPStream, 1.003943, []uint64{437387264, 432275456}, 2, 0, 0, 0},
		{"3.12/tcp-bidir", record.TCPBidir, 1.007705, []uint64{397410304 + 209453056, 418381824 + 189792256}, 1 + 3, 0, 0, 0},
		{"3.12/udp", record.UDPStream, 1.015797, []uint64{2498000}, 0, 2498, 2498, 0.014728020240388773e-3},
		{"3.12/udp-reverse", record.UDPStream, 1.000103, []uint64{2499000}, 0, 2499, 2499, 0.019164803674020355e-3},
		// At the end it says that 48864 were lost, with those of the warm-up.
		{"3.12/udp-unlimited", record.UDPStream, 1.000255, nil, 0, 102372, 102372 - 23504, 0.0513793183033092e-3},
		{"3.18/tcp", record.TCPStream, 1.004824, []uint64{1522270208}, 878, 0, 0, 0},
		{"3.18/tcp6", record.TCPStream, 1.003068, []uint64{1260126208}, 31340, 0, 0, 0},
		{"3.18/tcp-parallel", record.TCPStream, 2.001971, []uint64{3906797568, 3418947584, 4287823872}, 1, 0, 0, 0},
		{"3.18/tcp-reverse", record.TCPStream, 1.000595, []uint64{1109393408, 1133379584}, 204, 0, 0, 0},
		{"3.18/tcp-bidir", record.TCPBidir, 1.00745, []uint64{278528000 + 410648576, 330563584 + 275382272}, 72 + 126, 0, 0, 0},
		{"3.18/udp", record.UDPStream, 1.000719, []uint64{2501000}, 0, 2501, 2501, 0.05055000568302748e-3},
		{"3.18/udp-reverse", record.UDPStream, 1.000887, []uint64{2502000}, 0, 2502, 2502, 0.015210106488524125e-3},
		{"3.18/udp-unlimited", record.UDPStream, 0.999988, nil, 0, 264504, 264504 - 104198, 0.010982454265671569e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			streams := max(len(c.bytes), 1)
			if c.bytes == nil {
				streams = 2
			}
			f, err := parse(jobOf(c.load, streams), transcript(t, c.name+".json"), "")
			if err != nil {
				t.Fatal(err)
			}
			if f.seconds != c.seconds || len(f.streams) != streams || f.busy[0] <= 0 || f.busy[1] <= 0 {
				t.Errorf("%+v", f)
			}
			for i, want := range c.bytes {
				if got := f.streams[i].bytes; got != want {
					t.Errorf("stream %d: %d bytes, want %d", i, got, want)
				}
			}
			if c.load == record.UDPStream {
				if d := f.datagrams; d.sent != c.sent || d.received != c.received || math.Abs(d.jitter-c.jitter) > 1e-12 {
					t.Errorf("datagrams %+v", *d)
				}
				return
			}
			if f.datagrams != nil || f.retransmits == nil || *f.retransmits != c.retransmits {
				t.Errorf("%v retransmits, want %d", f.retransmits, c.retransmits)
			}
			for i, s := range f.streams {
				if (s.tcp == nil) != strings.HasSuffix(c.name, "reverse") {
					t.Errorf("stream %d: TCP %+v", i, s.tcp)
				}
			}
		})
	}
}

func TestParseTCPInfo(t *testing.T) {
	f, err := parse(jobOf(record.TCPStream, 3), transcript(t, "3.12/tcp-parallel.json"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := record.TCPInfo{Retransmits: 28, RTT: 349, RTTVar: 113, Cwnd: 569064 / 1448, SndMSS: 1448, PMTU: 1500, Congestion: "reno"}
	if got := f.streams[0].tcp; got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
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
		{"empty", record.TCPStream, "", "prints no JSON"},
		{"nan", record.TCPStream, tcp + "nan", "prints no JSON"},
		{"NaN as a number", record.TCPStream, replaced(tcp, "1.015635", "nan"), "prints no JSON"},
		{"cut off", record.TCPStream, tcp[:len(tcp)/2], "prints no JSON"},
		{"another program", record.TCPStream, "{}", `unknown version ""`},
		{"another version", record.TCPStream, replaced(tcp, "iperf 3.12", "iperf 4.0"), `unknown version "iperf 4.0": tested with 3.12 and 3.18`},
		{"another protocol", record.UDPStream, tcp, `1 streams of "TCP"`},
		{"one direction", record.TCPBidir, tcp, "end: 1 streams, want 2"},
		{"no sum_received", record.TCPStream, replaced(tcp, "sum_received", "sum_got"), "no field sum_received"},
		{"no bytes", record.TCPStream, without(tcp, `"bytes":\s*779351104,`), "no field bytes of a receiver"},
		{"no seconds", record.TCPStream, without(tcp, `"seconds":\s*[0-9.]+,`), "no field sum_received: seconds"},
		{"no CPU", record.TCPStream, replaced(tcp, "host_total", "total"), "no field cpu_utilization_percent"},
		{"nothing received", record.TCPStream, replaced(tcp, "779351104", "0"), "nothing was received"},
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
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(b), strings.Contains(name, "udp"), strings.Contains(name, "bidir"), 1+len(name)%3)
		}
	}
	f.Fuzz(func(t *testing.T, text string, udp, bidir bool, streams int) {
		load := record.TCPStream
		if udp {
			load = record.UDPStream
		} else if bidir {
			load = record.TCPBidir
		}
		if streams < 1 || streams > 100 {
			return
		}
		got, err := parse(jobOf(load, streams), text, "")
		if err != nil {
			return
		}
		if !(got.seconds > 0) || len(got.streams) != streams || udp != (got.datagrams != nil) {
			t.Errorf("%+v", got)
		}
		for _, s := range got.streams {
			if s.bytes == 0 {
				t.Errorf("a stream of nothing: %+v", got)
			}
		}
	})
}
