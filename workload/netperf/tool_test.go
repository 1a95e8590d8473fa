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
		{"datagrams", job(record.UDPStream, record.Options{}), server, head + "UDP_STREAM -l 1 -f k -- -P ,20003 -m 1400,1400 -M 1400,1400 -R 1" + asks(record.UDPStream)},
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

// TestExplain holds that an address which netperf cannot resolve skips the trial, and
// that other errors do not.
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
