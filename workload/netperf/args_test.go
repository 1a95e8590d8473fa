package netperf

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/platform"
	"nettoll/record"
	"nettoll/workload"
)

var (
	four = workload.Pair{Addr: netip.MustParseAddr("198.18.0.2"), Port: 20001, Own: [2]int{20002, 20003}}
	six  = workload.Pair{Addr: netip.MustParseAddr("2001:2::2"), Listen: netip.MustParseAddr("2001:2::3"), Port: 20001, Own: [2]int{20002, 20003}}
)

// named is an endpoint that nothing is started in.
type named struct {
	platform.Endpoint
	name string
}

func (n named) Name() string { return n.name }

func between(client, server string) workload.Pair {
	return workload.Pair{Client: named{name: client}, Server: named{name: server}}
}

func testJob(load string, o record.Options) workload.Job {
	return workload.Job{Workload: load, Options: o, Duration: 1500 * time.Millisecond}
}

func TestClientArgs(t *testing.T) {
	const head, head6 = "-P 0 -4 -H 198.18.0.2 -p 20002 -t ", "-P 0 -6 -H 2001:2::2 -p 20002 -t "
	for _, c := range []struct {
		name string
		load string
		o    record.Options
		pair workload.Pair
		want string // but for what is asked for
	}{
		{"stream", record.TCPStream, record.Options{}, four, head + "TCP_STREAM -l 2 -f k -- -P ,20003"},
		{"stream back", record.TCPStream, record.Options{Reverse: true}, six, head6 + "TCP_MAERTS -l 2 -f k -- -P ,20003"},
		{"stream with all", record.TCPStream, record.Options{MessageSize: 4096, Window: 65536, Congestion: "reno"}, four,
			head + "TCP_STREAM -l 2 -f k -- -P ,20003 -m 4096,4096 -M 4096,4096 -s 65536 -S 65536 -K reno,reno"},
		{"rr", record.TCPRR, record.Options{}, four, head + "TCP_RR -l 2 -f k -- -P ,20003 -r 1,1 -D L,R"},
		{"rr with sizes", record.TCPRR, record.Options{RequestSize: 100, ResponseSize: 200}, four, head + "TCP_RR -l 2 -f k -- -P ,20003 -r 100,200 -D L,R"},
		{"crr", record.TCPCRR, record.Options{ResponseSize: 200}, four, head + "TCP_CRR -l 2 -f k -- -P ,20003 -r 1,200 -D L,R"},
		{"datagrams", record.UDPStream, record.Options{}, four, head + "UDP_STREAM -l 2 -f k -- -P ,20003 -m 1400,1400 -M 1400,1400 -R 1"},
		{"datagrams with size", record.UDPStream, record.Options{MessageSize: 100, Window: 1}, six,
			head6 + "UDP_STREAM -l 2 -f k -- -P ,20003 -m 100,100 -M 100,100 -R 1 -s 1 -S 1"},
		{"rr in datagrams", record.UDPRR, record.Options{}, four, head + "UDP_RR -l 2 -f k -- -P ,20003 -r 1,1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := testJob(c.load, c.o)
			test, err := testOf(job)
			if err != nil {
				t.Fatal(err)
			}
			got, asked, _ := strings.Cut(strings.Join(test.clientArgs(job, c.pair), " "), " -k ")
			if got != c.want {
				t.Errorf("arguments %s\nwant      %s", got, c.want)
			}
			if asked != strings.Join(test.selectors(), ",") || !strings.HasPrefix(asked, "PROTOCOL,") {
				t.Errorf("asks for %s", asked)
			}
		})
	}
	if _, err := testOf(testJob(record.HTTP, record.Options{})); err == nil {
		t.Error("netperf drives http")
	}
	if got := strings.Join(serverArgs(six), " "); got != "-D -f -L 2001:2::3,6 -6 -p 20002" {
		t.Errorf("server has %s", got)
	}
}

// TestExplain holds that an address which netperf cannot resolve skips the trial, and
// that other errors do not.
func TestExplain(t *testing.T) {
	job := testJob(record.TCPRR, record.Options{})
	job.Pairs = []workload.Pair{four}
	told := errors.New("resolve_host: could not resolve host '198.18.0.2' port '(null)' af AF_INET | \tgetaddrinfo returned -2 Name or service not known")
	if err := explain(told, job); !errors.Is(err, platform.ErrUnsupported) || !errors.Is(err, told) {
		t.Errorf("error %v", err)
	}
	other := errors.New("netperf: send_omni: send_data failed: Invalid argument")
	if err := explain(other, job); err != other {
		t.Errorf("error %v", err)
	}
}
