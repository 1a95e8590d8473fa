package nuttcp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "-S --nofork") }

func TestArguments(t *testing.T) {
	const head, server = "-4 -P 20002 -p 20003 -fparse -vv -i1 -T3 ", "-4 -S --nofork --no3rdparty -P 20002"
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"stream", job(record.TCPStream, record.Options{}), server, head + "198.18.0.1"},
		{"stream over IPv6", job(record.TCPStream, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1")), "-6" + server[2:], "-6" + head[2:] + "2001:2::1"},
		{"stream back", job(record.TCPStream, record.Options{Reverse: true}), server, head + "-r -F 198.18.0.1"},
		{"stream with all", job(record.TCPStream, record.Options{MessageSize: 4096, Window: 128 << 10}), server, head + "-l4096 -w128 -ws128 198.18.0.1"},
		{"a window that is no multiple", job(record.TCPStream, record.Options{Window: 1025}), server, head + "-w2 -ws2 198.18.0.1"},
		{"datagrams", job(record.UDPStream, record.Options{}), server, head + "-u -Ru -l1300 198.18.0.1"},
		{"datagrams paced", job(record.UDPStream, record.Options{MessageSize: 1000, Bandwidth: 40e6}), server, head + "-u -R40000 -l1000 198.18.0.1"},
		{"datagrams at a snail's pace", job(record.UDPStream, record.Options{Bandwidth: 100}), server, head + "-u -R1 -l1300 198.18.0.1"},
	})
}

// job returns a job with a warm-up, which nuttcp rounds up to a second.
func job(load string, o record.Options, pairs ...workload.Pair) workload.Job {
	return workloadtest.Warm(workloadtest.Job(load, o, pairs...), 200*time.Millisecond)
}

// TestMeasures checks that the window has the requested length.
func TestMeasures(t *testing.T) {
	whole := func(lead, window time.Duration) workload.Job {
		j := workloadtest.Warm(job(record.TCPStream, record.Options{}), lead*time.Second)
		j.Duration = window * time.Second
		return j
	}
	two := func(o record.Options) workload.Job {
		return job(record.UDPStream, o, workloadtest.Clients("", o, 2).Pairs...)
	}
	workloadtest.Measures(t, Tool, "6.1.2/%s.txt", []workloadtest.Case{
		{"stream", job(record.TCPStream, record.Options{}), "tcp", "nuttcp-t: retrans=0", "nuttcp-t: retrans=3",
			"999.512001ms 621281280 B [{2152857600 1}] retransmits=3 throughput=4.972677e+09 621281280 B/0 (3 RTX 96 µs 1448 )"},
		{"another round trip", job(record.TCPStream, record.Options{}), "tcp", "rtt_ms=0.096", "rtt_ms=0.009",
			"999.512001ms 621281280 B [{2152857600 1}] retransmits=0 throughput=4.972677e+09 621281280 B/0 (0 RTX 9 µs 1448 )"},
		{"the first second", whole(0, 1), "tcp", "", "",
			"1.000924996s 910557184 B [{2152857600 1}] retransmits=0 throughput=7.277726e+09 910557184 B/0 (0 RTX 96 µs 1448 )"},
		{"the third", whole(2, 1), "tcp", "", "",
			"999.668999ms 617938944 B [{2152857600 1}] retransmits=0 throughput=4.945148e+09 617938944 B/0 (0 RTX 96 µs 1448 )"},
		{"two seconds", whole(0, 2), "tcp", "", "",
			"2.000436997s 1531838464 B [{2152857600 1}] retransmits=0 throughput=6.126015e+09 1531838464 B/0 (0 RTX 96 µs 1448 )"},
		{"all three", whole(0, 3), "tcp", "", "",
			"3.000105997s 2149777408 B [{2152857600 1}] retransmits=0 throughput=5.732537e+09 2149777408 B/0 (0 RTX 96 µs 1448 )"},
		{"stream back", job(record.TCPStream, record.Options{Reverse: true, MessageSize: 4096}), "tcp_reverse", "", "",
			"1.00017773s 61153266 B [{191192104 1}] retransmits=0 throughput=4.891392e+08 61153266 B/0 (0 RTX 69 µs 1448 )"},
		{"datagrams", job(record.UDPStream, record.Options{MessageSize: 1400}), "udp", "", "",
			"1.02002304s 30282000 B [{105036382 1}] loss=0.1972835 packet_rate=21205.4 throughput=2.375005e+08 30282000 B/0"},
		{"datagrams paced", two(record.Options{MessageSize: 1000, Bandwidth: 43e6}), "udp_paced+udp_paced", "", "",
			"1.081330389s 7550000 B [{12223984 1} {12223984 1}] loss=0.3499225 packet_rate=6982.14 throughput=5.585712e+07 3775000 B/0 3775000 B/0"},
		{"datagrams slower than paced", two(record.Options{MessageSize: 1000, Bandwidth: 44e6}), "udp_paced+udp_paced", "", "",
			"1.081330389s 7550000 B [{12223984 1} {12223984 1}] loss=0.3499225 packet_rate=6982.14 throughput=5.585712e+07 3775000 B/0 3775000 B/0 " +
				"pace-missed: reached only 85.92 of the requested 88 Mbit/s of p"},
	})
	workloadtest.Measures(t, Tool, "8.2.2/%s.txt", []workloadtest.Case{
		{"8.2.2", job(record.TCPStream, record.Options{}), "tcp", "", "", "1.000017003s 1371865088 B [{4047896576 1}] retransmits=50551 throughput=1.097473e+10 1371865088 B/0 (50551 RTX 187 µs 1448 )"},
		{"8.2.2, stream back", job(record.TCPStream, record.Options{Reverse: true, MessageSize: 4096}), "tcp_reverse", "", "", "999.96879ms 126439391 B [{381235180 1}] retransmits=228 throughput=1.011547e+09 126439391 B/0 (228 RTX 129 µs 1448 )"},
		{"8.2.2, datagrams", job(record.UDPStream, record.Options{MessageSize: 1400}), "udp", "", "", "999.99701ms 228909800 B [{686754575 1}] loss=0.01083498 packet_rate=163507.5 throughput=1.831284e+09 228909800 B/0"},
		{"8.2.2, some of them a second late", job(record.UDPStream, record.Options{MessageSize: 1400}), "udp", "drop=1791 pkt=165298", "drop=-78 pkt=165298", "999.99701ms 231526400 B [{686754575 1}] loss=0 packet_rate=165376.5 throughput=1.852217e+09 231526400 B/0"},
	})
	workloadtest.Refuses(t, Tool, "6.1.2/%s.txt", []workloadtest.Case{
		{"more seconds than there were", whole(2, 2), "tcp", "", "", "reported 3 seconds instead of 4"},
	})
}

// TestLateServer checks which errors say that a server was late, so that the trial is run again.
func TestLateServer(t *testing.T) {
	for said, late := range map[string]bool{
		"nuttcp: client h1: /usr/bin/nuttcp: nuttcp-t: v6.1.2: Error: connect: Connection refused | errno=111": true,
		"nuttcp: client h1: /usr/bin/nuttcp: nuttcp-t: v6.1.2: Error: connect: Network is unreachable":         false,
	} {
		err := explain(errors.New(said), workload.Job{})
		if errors.Is(err, workload.ErrLate) != late || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	stream, datagrams := job(record.TCPStream, record.Options{}), job(record.UDPStream, record.Options{MessageSize: 1400})
	workloadtest.Refuses(t, Tool, "6.1.2/%s.txt", []workloadtest.Case{
		{"nothing", stream, "tcp", workloadtest.Transcript(t, "6.1.2/tcp.txt"), "", "not "},
		{"for people", stream, "tcp_brief", "", "", `"  550.0625 MB /   1.00 sec = 4610.9711 Mbps`},
		{"a field is missing", stream, "tcp", "nuttcp-t: retrans=0\n", "", "did not print retrans"},
		{"a field is missing in the window", stream, "tcp", " rate_Mbps=4972.6769", "", "did not print rate_Mbps"},
		{"a field is new", stream, "tcp", "reporting_interval", "repeating_interval", "repeating_interval=1.00\", which is unknown; version 6.1.2 or 8.2.2 is known"},
		{"a report is missing", stream, "tcp", "megabytes=868.3750 real_sec=1.00 rate_Mbps=7277.7256 retrans=0\nmegabytes=592.5000 real_sec=1.00 rate_Mbps=4972.6769 retrans=0\n", "", "reported 1 seconds instead of 2"},
		{"another protocol", stream, "udp", "", "", "mode=udp, not tcp"},
		{"several streams", stream, "tcp_two_streams", "", "", "nstream=2, not 1"},
		{"another message size", job(record.TCPStream, record.Options{MessageSize: 4096}), "tcp", "", "", "buflen=65536, not 4096"},
		{"NaN", stream, "tcp", "rate_Mbps=4972.6769", "rate_Mbps=nan", "rate_Mbps=nan, which is not a number"},
		{"infinity", stream, "tcp", "real_sec=1.00 rate_Mbps=4972.6769", "real_sec=inf rate_Mbps=4972.6769", "real_sec=inf, which is not a number"},
		{"negative", stream, "tcp", "megabytes=592.5000", "megabytes=-592.5000", "megabytes=-592.5000, which is not a number"},
		{"zero", stream, "tcp", "megabytes=592.5000 real_sec=1.00 rate_Mbps=4972.6769", "megabytes=0.0000 real_sec=1.00 rate_Mbps=0.0000", "flow 0: nothing was received"},
		{"rate and size do not agree", stream, "tcp", "megabytes=592.5000", "megabytes=292.5000", "4972.6769 Mbit/s, but received 292.5 MiB in 1 s"},
		{"more than all", stream, "tcp", "megabytes=2053.1250", "megabytes=53.1250", "bytes in the window, and 55705600 in all"},
		{"no count", datagrams, "udp", "pkt=26946", "pkt=26946.5", "pkt=26946.5, which is not a count"},
		{"more dropped than sent", datagrams, "udp", "drop=5316", "drop=50000", "50000 of 26946 datagrams as missing"},
		{"an error", stream, "no_server", "", "", "connect failed: Connection refused"},
	})
}

func FuzzParse(f *testing.F) {
	workloadtest.Fuzz(f, Tool, "6.1.2/%s.txt", []string{"tcp", "tcp_reverse", "tcp_brief", "no_server", "udp"})
}
