package engine

import (
	"strings"
	"testing"

	"nettoll/record"
	"nettoll/workload"
)

func TestTrafficOf(t *testing.T) {
	for _, c := range []struct {
		name, workload string
		options, want  record.Options
		err            string
	}{
		{"stream by default", record.TCPStream, record.Options{},
			record.Options{Streams: 1, MessageSize: 128 << 10}, ""},
		{"stream as asked", record.TCPStream, record.Options{Streams: 4, MessageSize: 1, ZeroCopy: true, SkipRxCopy: true},
			record.Options{Streams: 4, MessageSize: 1, ZeroCopy: true, SkipRxCopy: true}, ""},
		{"rr by default", record.TCPRR, record.Options{},
			record.Options{Streams: 1, RequestSize: 1, ResponseSize: 1}, ""},
		{"rr as asked", record.TCPRR, record.Options{RequestSize: 200, ResponseSize: 3000, Window: 1 << 20, Congestion: "reno"},
			record.Options{Streams: 1, RequestSize: 200, ResponseSize: 3000, Window: 1 << 20, Congestion: "reno"}, ""},
		{"unknown", "udp_magic", record.Options{}, record.Options{}, `unknown workload "udp_magic"`},
		{"stream with a request", record.TCPStream, record.Options{RequestSize: 1}, record.Options{}, "no effect"},
		{"rr with a message", record.TCPRR, record.Options{MessageSize: 1}, record.Options{}, "no effect"},
		{"rr with zero-copy", record.TCPRR, record.Options{ZeroCopy: true}, record.Options{}, "no effect"},
		{"rr without copy", record.TCPRR, record.Options{SkipRxCopy: true}, record.Options{}, "no effect"},
		{"stream at a pace", record.TCPStream, record.Options{Bandwidth: 1e9}, record.Options{Streams: 1, Bandwidth: 1e9, MessageSize: 125_000}, ""},
		{"streams both ways at a pace", record.TCPBidir, record.Options{Bandwidth: 1}, record.Options{}, "bandwidth has no effect"},
		{"crr by default", record.TCPCRR, record.Options{}, record.Options{Streams: 1, RequestSize: 16, ResponseSize: 1}, ""},
		{"crr without room for the cookie", record.TCPCRR, record.Options{RequestSize: 15}, record.Options{}, "request size is 15: it must be between 16"},
		{"datagrams by default", record.UDPStream, record.Options{}, record.Options{Streams: 1, MessageSize: 1300}, ""},
		{"datagrams without room for a header", record.UDPStream, record.Options{MessageSize: 23}, record.Options{}, "message size is 23: it must be between 24"},
		{"datagrams that UDP cannot carry", record.UDPStream, record.Options{MessageSize: 65508}, record.Options{}, "and 65507"},
		{"udp rr by default", record.UDPRR, record.Options{}, record.Options{Streams: 1, RequestSize: 16, ResponseSize: 16}, ""},
		{"paced rr by default", record.PacedRR, record.Options{}, record.Options{Streams: 1, RequestSize: 1, ResponseSize: 1, Rate: 1000}, ""},
		{"paced rr backwards", record.PacedRR, record.Options{Rate: -1}, record.Options{}, "rate is -1"},
		{"http by default", record.HTTP, record.Options{}, record.Options{Streams: 1, ResponseSize: 1024}, ""},
		{"http with a request", record.HTTP, record.Options{RequestSize: 5}, record.Options{}, "request-size has no effect"},
		{"negative streams", record.TCPStream, record.Options{Streams: -1}, record.Options{}, "streams is -1"},
		{"huge message", record.TCPStream, record.Options{MessageSize: 1 << 40}, record.Options{}, "message-size is"},
		{"negative window", record.TCPStream, record.Options{Window: -5}, record.Options{}, "window is -5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := trafficOf(c.workload, c.options)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v does not say %q", err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
			if _, again, err := trafficOf(c.workload, got); err != nil || again != got {
				t.Errorf("complete options change to %+v, %v", again, err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []record.Warning
		want string // code, or nothing
	}{
		{"kernel works", generatorLimited("client c", cpuTime{User: 0.25, System: 0.75}), ""},
		{"generator works", generatorLimited("client c", cpuTime{User: 0.26, System: 0.74}), record.WarnGenerator},
		{"too little to say", generatorLimited("client c", cpuTime{User: 0.05, System: 0.01}), ""},
		{"nothing used", generatorLimited("client c", cpuTime{}), ""},
		{"all flows ready", coldFlows(0, 5, false), ""},
		{"some flows cold", coldFlows(1, 5, false), record.WarnCold},
		{"some flows cold in a turn", coldFlows(1, 5, true), record.WarnCold},
		{"no pace", workload.Pace(0, 5, 0, "0 bit/s"), ""},
		{"pace kept", workload.Pace(100, 99, 0, "100 bit/s"), ""},
		{"pace missed", workload.Pace(100, 97, 0, "100 bit/s"), "pace-missed"},
		{"pace kept but for an item", workload.Pace(100, 97, 2, "100 bit/s"), ""},
		{"pace exceeded", workload.Pace(100, 103, 0, "100 bit/s"), "pace-exceeded"},
		{"pace exceeded by an item", workload.Pace(100, 103, 2, "100 bit/s"), ""},
		{"among ourselves", strangersCame("server s", 0), ""},
		{"strangers", strangersCame("server s", 2), WarnStrangers},
		{"window granted", workload.Narrowed("send", "wmem_max", 1000, 1000), ""},
		{"window limited", workload.Narrowed("send", "wmem_max", 1000, 999), "window-limited"},
	} {
		got := ""
		if len(c.got) > 0 {
			got = c.got[0].Code
		}
		if got != c.want {
			t.Errorf("%s: warning %q, want %q", c.name, got, c.want)
		}
	}
}
