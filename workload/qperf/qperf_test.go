package qperf

import (
	"testing"

	"nettoll/internal/testutil"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "") }

func TestArguments(t *testing.T) {
	const head, head6, rest = "198.18.0.1 -lp 20002 -ip 20003 -ws 1 ", "2001:2::1 -lp 20002 -ip 20003 -ws 1 ", "-t 1 -uu -ub -un -e 12 -vvs -vvt -vvu "
	job := workloadtest.Job
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"stream", job(record.TCPStream, record.Options{}), "-lp 20002", head + rest + "tcp_bw"},
		{"stream with all", job(record.TCPStream, record.Options{MessageSize: 4096}), "-lp 20002", head + rest + "-m 4096 tcp_bw"},
		{"rr", job(record.TCPRR, record.Options{}), "-lp 20002", head + rest + "-m 1 tcp_lat"},
		{"datagrams", job(record.UDPStream, record.Options{}), "-lp 20002", head + rest + "-m 1300 udp_bw"},
		{"datagrams with all", job(record.UDPStream, record.Options{MessageSize: 100, Window: 4096}), "-lp 20002", head + rest + "-m 100 -sb 4096 udp_bw"},
		{"rr in datagrams", job(record.UDPRR, record.Options{}, workloadtest.Pair("c", "s", "2001:2::1")), "-lp 20002", head6 + rest + "-m 1 udp_lat"},
	})
}

func TestMeasures(t *testing.T) {
	job := workloadtest.Clients
	workloadtest.Measures(t, Tool, "0.4.11/%s.txt", []workloadtest.Case{
		{"stream", job(record.TCPStream, record.Options{}, 1), "tcp_bw", "", "",
			"1s 932708352 B [{932708352 1}] throughput=7.461667e+09 932708352 B/0"},
		{"stream with options", job(record.TCPStream, record.Options{MessageSize: 4096}, 1), "tcp_bw_options", "", "",
			"1s 543563776 B [{543563776 1}] throughput=4.34851e+09 543563776 B/0"},
		{"rr", job(record.TCPRR, record.Options{}, 1), "tcp_lat", "", "",
			"999.999999ms 51858 B [{51858 1 25929}] latency_mean=3.856686e-05 transaction_rate=25929 0 B/25929"},
		{"datagrams of two clients", job(record.UDPStream, record.Options{MessageSize: 1400}, 2), "udp_bw+udp_bw", "", "",
			"1.009999999s 104574400 B [{52287200 1} {52287200 1}] loss=0.390187 packet_rate=73956.44 throughput=8.283121e+08 52287200 B/0 52287200 B/0"},
		{"rr in datagrams", job(record.UDPRR, record.Options{}, 1), "udp_lat", "", "",
			"999.98394ms 62269 B [{62269 1 31134}] latency_mean=3.211871e-05 transaction_rate=31134.5 0 B/31134"},
		{"rr in datagrams, of which one was lost", job(record.UDPRR, record.Options{}, 2), "udp_lat+udp_lat_lost", "", "",
			"999.985351ms 68267 B [{62269 1 31134} {5998 1 2999}] latency_mean=5.859385e-05 transaction_rate=34133.5 0 B/31134 0 B/2999 maybe-stalled: the last " +
				"request of d had not arrived when the tim"},
	})
}

func TestParseRefuses(t *testing.T) {
	stream, rr, datagrams := workloadtest.Job(record.TCPStream, record.Options{}), workloadtest.Job(record.TCPRR, record.Options{}), workloadtest.Job(record.UDPStream, record.Options{MessageSize: 1400})
	workloadtest.Refuses(t, Tool, "0.4.11/%s.txt", []workloadtest.Case{
		{"nothing", stream, "tcp_bw", workloadtest.Transcript(t, "0.4.11/tcp_bw.txt"), "", "did not print bw"},
		{"a field is missing", stream, "tcp_bw", "    rem_recv_bytes   =      932708352 bytes\n", "", "did not print rem_recv_bytes"},
		{"a field is new", stream, "tcp_bw", "    port ", "    harbour ", "harbour"},
		{"a field twice", stream, "tcp_bw", "    time ", "    timeout ", "timeout"},
		{"a warning", stream, "tcp_bw", "tcp_bw:\n", "tcp_bw:\nwarning: -f1 set but not used in test tcp_bw\n", "warning: -f1 set"},
		{"another test", rr, "udp_lat", "", "", `"udp_lat:", which is unknown`},
		{"for people", rr, "tcp_lat_plain", "", "", `latency in "us", not in "ns"`},
		{"another unit", stream, "tcp_bw", "7461666816 bits/sec", "932708352 bytes/sec", `bw in "bytes/sec", not in "bits/sec"`},
		{"no unit", rr, "tcp_lat", "19283.4278221 ns", "19283.4278221", `latency in "", not in "ns"`},
		{"NaN", rr, "tcp_lat", "19283.4278221", "nan", "latency=nan, which is not a number"},
		{"infinity", stream, "tcp_bw", "7461666816", "inf", "bw=inf, which is not a number"},
		{"negative", rr, "tcp_lat", "19283.4278221", "-19283.4278221", "latency=-19283.4278221, which is not a number"},
		{"zero", stream, "tcp_bw", "7461666816", "0", "reported 0 bit/s, but counted"},
		{"no count", stream, "tcp_bw", "932708352", "932708352.5", "which is not a count"},
		{"counts do not agree", stream, "tcp_bw", "932708352", "432708352", "but counted"},
		{"the whole way", rr, "tcp_lat", "19283.4278221", "38566.8556442", "but counted"},
		{"too large for a datagram", workloadtest.Job(record.UDPStream, record.Options{MessageSize: 70000}), "udp_bw_too_large", "", "", "did not print loc_send_msgs"},
		{"another message size", datagrams, "udp_bw", "   1400 bytes", "   1300 bytes", "wrote 1300 bytes at a time, not 1400"},
		{"an error", stream, "no_server", "", "", "198.18.0.2: failed to connect"},
	})
}

func FuzzParse(f *testing.F) {
	workloadtest.Fuzz(f, Tool, "0.4.11/%s.txt", []string{"tcp_bw", "tcp_lat", "udp_bw", "udp_lat", "tcp_lat_plain", "no_server"})
}
