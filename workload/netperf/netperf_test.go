package netperf

import (
	"errors"
	"strings"
	"testing"

	"nettoll/internal/testutil"
	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload/workloadtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { workloadtest.Conform(t, Tool, "netserver -D") }

func TestArguments(t *testing.T) {
	const head, head6 = "-P 0 -4 -H 198.18.0.1 -p 20002 -t ", "-P 0 -6 -H 2001:2::1 -p 20002 -t "
	const server, server6 = "-D -f -L 198.18.0.2,4 -4 -p 20002", "-D -f -L 2001:2::2,6 -6 -p 20002"
	six := workloadtest.Pair("c", "s", "2001:2::1")
	asks := func(load string) string { return " -k " + strings.Join(tests[load].selectors(), ",") }
	job := workloadtest.Job
	workloadtest.Arguments(t, Tool, []workloadtest.Commands{
		{"stream", job(record.TCPStream, record.Options{}), server, head + "TCP_STREAM -l 1 -f k -- -P ,20003" + asks(record.TCPStream)},
		{"stream back", job(record.TCPStream, record.Options{Reverse: true}, six), server6, head6 + "TCP_MAERTS -l 1 -f k -- -P ,20003" + asks(record.TCPStream)},
		{"stream with all", job(record.TCPStream, record.Options{MessageSize: 4096, Window: 65536, Congestion: "reno"}), server,
			head + "TCP_STREAM -l 1 -f k -- -P ,20003 -m 4096,4096 -M 4096,4096 -s 65536 -S 65536 -K reno,reno" + asks(record.TCPStream)},
		{"rr", job(record.TCPRR, record.Options{}), server, head + "TCP_RR -l 1 -f k -- -P ,20003 -r 1,1 -D L,R" + asks(record.TCPRR)},
		{"rr with sizes", job(record.TCPRR, record.Options{RequestSize: 100, ResponseSize: 200}), server,
			head + "TCP_RR -l 1 -f k -- -P ,20003 -r 100,200 -D L,R" + asks(record.TCPRR)},
		{"crr", job(record.TCPCRR, record.Options{ResponseSize: 200}), server, head + "TCP_CRR -l 1 -f k -- -P ,20003 -r 1,200 -D L,R" + asks(record.TCPCRR)},
		{"datagrams", job(record.UDPStream, record.Options{}), server, head + "UDP_STREAM -l 1 -f k -- -P ,20003 -m 1300,1300 -M 1300,1300 -R 1" + asks(record.UDPStream)},
		{"datagrams with size", job(record.UDPStream, record.Options{MessageSize: 100, Window: 1}, six), server6,
			head6 + "UDP_STREAM -l 1 -f k -- -P ,20003 -m 100,100 -M 100,100 -R 1 -s 1 -S 1" + asks(record.UDPStream)},
		{"rr in datagrams", job(record.UDPRR, record.Options{}), server, head + "UDP_RR -l 1 -f k -- -P ,20003 -r 1,1" + asks(record.UDPRR)},
	})
	for load := range tests {
		if !strings.HasPrefix(asks(load), " -k PROTOCOL,") {
			t.Errorf("%s asks for %s", load, asks(load))
		}
	}
}

// TestExplain checks that an address that netperf cannot resolve skips the trial, and that other
// errors do not.
func TestExplain(t *testing.T) {
	job := workloadtest.Job(record.TCPRR, record.Options{})
	told := errors.New("resolve_host: could not resolve host '198.18.0.2' port '(null)' af AF_INET | \tgetaddrinfo returned -2 Name or service not known")
	if err := explain(told, job); !errors.Is(err, platform.ErrUnsupported) || !errors.Is(err, told) {
		t.Errorf("error %v", err)
	}
	other := errors.New("netperf: send_omni: send_data failed: Invalid argument")
	if err := explain(other, job); err != other {
		t.Errorf("error %v", err)
	}
}

func transcript(t testing.TB, name string) string {
	return workloadtest.Transcript(t, "2.7.0/"+name+".txt")
}

func TestMeasures(t *testing.T) {
	job := workloadtest.Clients
	workloadtest.Measures(t, Tool, "2.7.0/%s.txt", []workloadtest.Case{
		{"stream", job(record.TCPStream, record.Options{}, 1), "tcp_stream", "PROTOCOL", chatter + "\nPROTOCOL",
			"1.000746965s 730300416 B [{730300416 1}] retransmits=365 throughput=5.838043e+09 730300416 B/0 by 16384 B (365 RTX 0 µs 1448 bbr)"},
		{"stream back", job(record.TCPStream, record.Options{Reverse: true, MessageSize: 4096, Congestion: "reno"}, 1), "tcp_maerts", "", "",
			"1.00007701s 504901632 B [{504901632 1}] retransmits=2 throughput=4.038902e+09 504901632 B/0 by 4096 B (2 RTX 0 µs 1448 reno)"},
		{"rr", job(record.TCPRR, record.Options{}, 1), "tcp_rr", "", "",
			"1.000363936s 74892 B [{74892 1 37446}] latency_max=0.030637 latency_mean=2.663e-05 latency_p50=1.6e-05 latency_p90=2e-05 latency_p99=9.4e-05 " +
				"retransmits=0 transaction_rate=37432.38 0 B/37446 (0 RTX 0 µs 1448 bbr)"},
		{"rr with retransmits of both ends", job(record.TCPRR, record.Options{}, 1), "tcp_rr", "TRANSPORT_RETRANS=0", "TRANSPORT_RETRANS=3",
			"1.000363936s 74892 B [{74892 1 37446}] latency_max=0.030637 latency_mean=2.663e-05 latency_p50=1.6e-05 latency_p90=2e-05 latency_p99=9.4e-05 " +
				"retransmits=6 transaction_rate=37432.38 0 B/37446 (6 RTX 0 µs 1448 bbr)"},
		{"rr of two clients", job(record.TCPRR, record.Options{}, 2), "tcp_rr+tcp_rr", "", "",
			"1.000363936s 149784 B [{74892 1 37446} {74892 1 37446}] latency_max=0.030637 latency_mean=2.663e-05 retransmits=0 transaction_rate=74864.75 0 B/37446 (0 " +
				"RTX 0 µs 1448 bbr) 0 B/37446 (0 RTX 0 µs 1448 bbr)"},
		{"crr", job(record.TCPCRR, record.Options{RequestSize: 100, ResponseSize: 200}, 1), "tcp_crr", "", "",
			"1.000102083s 1722300 B [{1722300 5741 5741}] latency_max=0.057248 latency_mean=0.00017409 latency_p50=6.4e-05 latency_p90=0.000144 " +
				"latency_p99=0.002675 transaction_rate=5740.414 0 B/5741"},
		{"datagrams of two clients", job(record.UDPStream, record.Options{MessageSize: 1400}, 2), "udp_stream+udp_stream", "", "",
			"1.001235018s 108788400 B [{54394200 1} {54394200 1}] loss=0.3674313 packet_rate=77610.15 throughput=8.692337e+08 54394200 B/0 by 1400 B 54394200 B/0 by 1400 B"},
		{"rr in datagrams", job(record.UDPRR, record.Options{}, 1), "udp_rr", "", "",
			"1.000056039s 53894 B [{53894 1 26947}] latency_max=0.014911 latency_mean=3.706e-05 latency_p50=1.3e-05 latency_p90=1.7e-05 latency_p99=0.00019 " +
				"transaction_rate=26945.49 0 B/26947"},
	})
}

// TestLongRoundTrips has three transactions of 260 ms in a second: the fourth did not end in it.
func TestLongRoundTrips(t *testing.T) {
	long := strings.NewReplacer("RECVD=26947", "RECVD=3", "RATE=26945.490", "RATE=3.000", "MEAN_LATENCY=37.06", "MEAN_LATENCY=260000",
		"P50_LATENCY=13", "P50_LATENCY=260000", "P90_LATENCY=17", "P90_LATENCY=260000", "P99_LATENCY=190", "P99_LATENCY=260000", "MAX_LATENCY=14911", "MAX_LATENCY=260000")
	f, err := parse(workloadtest.Job(record.UDPRR, record.Options{}), long.Replace(transcript(t, "udp_rr")), "")
	if err != nil || f.Transactions != 3 {
		t.Errorf("%v transactions, %v", f.Transactions, err)
	}
}

func TestParseRefuses(t *testing.T) {
	stream, rr := workloadtest.Job(record.TCPStream, record.Options{}), workloadtest.Job(record.TCPRR, record.Options{})
	workloadtest.Refuses(t, Tool, "2.7.0/%s.txt", []workloadtest.Case{
		{"nothing", stream, "tcp_stream", transcript(t, "tcp_stream"), "", "did not print PROTOCOL"},
		{"a field is missing", stream, "tcp_stream", "REMOTE_BYTES_RECVD=730300416\n", "", "did not print REMOTE_BYTES_RECVD"},
		{"a field is missing", rr, "tcp_rr", "P99_LATENCY=94\n", "", "did not print P99_LATENCY"},
		{"a field is new", stream, "tcp_stream", "ELAPSED", "COLOUR=red\nELAPSED", `"COLOUR=red", which was not requested; version 2.7.0 is known`},
		{"a field twice", rr, "tcp_rr", "P99_LATENCY", "P90_LATENCY", "P90_LATENCY twice"},
		{"a banner", stream, "tcp_stream", "PROTOCOL", "MIGRATED TCP STREAM TEST\nPROTOCOL", "MIGRATED"},
		{"another test", rr, "udp_rr", "", "", "PROTOCOL=UDP, not TCP"},
		{"another direction", stream, "tcp_maerts", "", "", "DIRECTION=Receive, not Send"},
		{"another unit", stream, "tcp_stream", "10^3", "10^6", "THROUGHPUT_UNITS=10^6bits/s, not 10^3bits/s"},
		{"NaN", stream, "tcp_stream", "5838042.51", "nan", "THROUGHPUT=nan, which is not a number"},
		{"infinity", rr, "tcp_rr", "26.63", "inf", "MEAN_LATENCY=inf, which is not a number"},
		{"negative", rr, "tcp_rr", "P50_LATENCY=16", "P50_LATENCY=-16", "P50_LATENCY=-16, which is not a number"},
		{"not told", stream, "tcp_stream", "RETRANS=365", "RETRANS=-1", "LOCAL_TRANSPORT_RETRANS=-1"},
		{"zero", stream, "tcp_stream", "5838042.51", "0.00", "reported 0 bit/s, but its receiver counted"},
		{"no time", stream, "tcp_stream", "=1.00", "=0.00", "ELAPSED_TIME=0"},
		{"no count", stream, "tcp_stream", "RECVD=730300416", "RECVD=7.3e8", "REMOTE_BYTES_RECVD=7.3e8, which is not a count"},
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
	slow := strings.NewReplacer("RECVD=37446", "RECVD=0", "RATE=37432.377", "RATE=1.0", "MEAN_LATENCY=26.63", "MEAN_LATENCY=600000")
	noTransaction := slow.Replace(transcript(f, "tcp_rr")) // at one per second
	nothingSent := strings.Replace(transcript(f, "udp_stream"), "LOCAL_BYTES_SENT=85989400", "LOCAL_BYTES_SENT=0", 1)
	workloadtest.Fuzz(f, Tool, "2.7.0/%s.txt", []string{"tcp_stream", "tcp_rr", "tcp_crr", "udp_stream", "udp_rr", "udp_rr_lost", "no_server"}, noTransaction, nothingSent)
}
