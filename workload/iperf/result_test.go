package iperf

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"nettoll/internal/program"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
	"nettoll/workload"
	"nettoll/workload/workloadtest"
)

// trial describes how a transcript was made: lead and window in seconds.
type trial struct {
	load         string
	o            record.Options
	lead, window time.Duration
	server       string
	clients      []string
}

func (c trial) result(t *testing.T, change func(*program.Outcome)) (workload.Result, error) {
	t.Helper()
	j := workload.Job{Workload: c.load, Options: c.o, Warmup: c.lead * time.Second, Duration: c.window * time.Second}
	o := program.Outcome{Servers: []program.Output{{Stdout: transcript(t, c.server)}}, Window: c.window * time.Second}
	for _, name := range c.clients {
		j.Pairs = append(j.Pairs, workloadtest.Pair(name, "s", "198.18.0.1"))
		o.ServerOf = append(o.ServerOf, 0)
		o.Clients = append(o.Clients, program.Output{Stdout: transcript(t, name)})
	}
	if change != nil {
		change(&o)
	}
	return Tool.Result(j, o)
}

var two = trial{record.TCPStream, record.Options{}, 1, 1, "two.server.txt", []string{"two.client2.txt"}}

func TestResult(t *testing.T) {
	for _, c := range []struct {
		name        string
		trial       trial
		bytes       []uint64 // by flow
		retransmits float64
	}{
		{"tcp", trial{record.TCPStream, record.Options{}, 0, 1, "tcp.server.txt", []string{"tcp.client.txt"}},
			[]uint64{1289942516}, 3291},
		// The server numbers the flows in the opposite order.
		{"parallel", trial{record.TCPStream, record.Options{Streams: 2}, 0, 2, "tcp-parallel.server.txt", []string{"tcp-parallel.client.txt"}},
			[]uint64{3522822204 + 3585409024, 3419865148 + 3656777728}, 0},
		{"parallel after a warm-up", trial{record.TCPStream, record.Options{Streams: 2}, 1, 1, "tcp-parallel.server.txt", []string{"tcp-parallel.client.txt"}},
			[]uint64{3585409024, 3656777728}, 0},
		{"reverse", trial{record.TCPStream, record.Options{Streams: 2, Reverse: true}, 0, 1, "tcp-reverse.server.txt", []string{"tcp-reverse.client.txt"}},
			[]uint64{778698752, 577372160}, 1472},
		{"bidir", trial{record.TCPBidir, record.Options{Streams: 2}, 1, 1, "tcp-bidir.server.txt", []string{"tcp-bidir.client.txt"}},
			[]uint64{394264432 + 354354280, 359135080 + 478674944}, 228 + 1316 + 45 + 361},
		{"one of several", two, []uint64{276692992}, 1},
		{"stalled", trial{record.TCPStream, record.Options{}, 1, 2, "tcp-stalled.server.txt", []string{"tcp-stalled.client.txt"}},
			[]uint64{26214400}, 1},
		{"2.2.1", trial{record.TCPStream, record.Options{}, 0, 1, "2.2.1/tcp.server.txt", []string{"2.2.1/tcp.client.txt"}}, []uint64{1692204744}, 1311},
		{"2.2.1, parallel after a warm-up",
			trial{record.TCPStream, record.Options{Streams: 2}, 1, 1, "2.2.1/tcp-parallel.server.txt", []string{"2.2.1/tcp-parallel.client.txt"}},
			[]uint64{3604524016, 3810263040}, 0},
		{"2.2.1, reverse", trial{record.TCPStream, record.Options{Streams: 2, Reverse: true}, 0, 1, "2.2.1/tcp-reverse.server.txt", []string{"2.2.1/tcp-reverse.client.txt"}},
			[]uint64{3540779008, 3532390400}, 0},
		{"2.2.1, bidir", trial{record.TCPBidir, record.Options{Streams: 2}, 1, 1, "2.2.1/tcp-bidir.server.txt", []string{"2.2.1/tcp-bidir.client.txt"}},
			[]uint64{502298424 + 1042177944, 1025096064 + 858521600}, 1273 + 810 + 1546 + 320},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.trial.result(t, nil)
			iferr.Fatal(t, err)
			sum := uint64(0)
			for i, want := range c.bytes {
				if got := r.Flows[i]; got.Bytes != want || got.TCP == nil || got.TCP.SndMSS != 1448 {
					t.Errorf("flow %d: %+v, want %d bytes", i, got, want)
				}
				sum += want
			}
			seconds := float64(c.trial.window)
			if r.Bytes != sum || len(r.Flows) != len(c.bytes) || r.Window != c.trial.window*time.Second {
				t.Errorf("%+v", r)
			}
			if got := r.Metrics[record.Throughput]; got != record.Measured(record.Throughput, float64(sum)*8/seconds) {
				t.Errorf("throughput %+v", got)
			}
			if got := r.Metrics[record.Retransmits].Value; got != c.retransmits || len(r.Metrics) != 2 {
				t.Errorf("%v retransmits, want %v", got, c.retransmits)
			}
			if x := r.Crossed[0]; x.Bytes < sum || x.Conns != uint64(len(c.bytes)) || len(r.Warnings) > 0 {
				t.Errorf("crossed %+v, warnings %v", x, r.Warnings)
			}
		})
	}
}

// TestTCPInfo has a congestion window of 356 KiB, in segments of 1448 bytes.
func TestTCPInfo(t *testing.T) {
	r, err := trial{record.TCPStream, record.Options{}, 0, 1, "tcp.server.txt", []string{"tcp.client.txt"}}.result(t, nil)
	iferr.Fatal(t, err)
	if want := (record.TCPInfo{Retransmits: 3291, RTT: 56, RTTVar: 17, Cwnd: 356 * 1024 / 1448, SndMSS: 1448}); *r.Flows[0].TCP != want {
		t.Errorf("%+v, want %+v", *r.Flows[0].TCP, want)
	}
}

func TestResultOfDatagrams(t *testing.T) {
	r, err := trial{record.UDPStream, record.Options{Streams: 2}, 1, 1, "udp-unlimited.server.txt", []string{"udp-unlimited.client.txt"}}.result(t, nil)
	iferr.Fatal(t, err)
	for name, want := range map[string]float64{
		record.Throughput: (32182710 + 49292040) * 8, record.PacketRate: 21893 + 33532,
		record.Loss: float64(18786+32321) / float64(40679+65853), record.Jitter: (0.005 + 0.001) / 1e3 / 2,
	} {
		if got := r.Metrics[name]; got != record.Measured(name, want) {
			t.Errorf("%s is %+v, want %v", name, got, want)
		}
	}
	// Jitter is that of the last second, and the mean of all flows of all clients: here two that are alike.
	c := trial{record.UDPStream, record.Options{Streams: 2}, 0, 2, "udp-unlimited.server.txt", []string{"udp-unlimited.client.txt", "udp-unlimited.client.txt"}}
	several, err := c.result(t, func(o *program.Outcome) { o.Servers, o.ServerOf[1] = append(o.Servers, o.Servers[0]), 1 })
	if got := several.Metrics[record.Jitter]; err != nil || got != r.Metrics[record.Jitter] {
		t.Errorf("jitter of two clients is %+v, want %+v, %v", got, r.Metrics[record.Jitter], err)
	}
	if len(r.Metrics) != 4 || r.Flows[0].Bytes != 49292040 || r.Flows[0].TCP != nil || r.Crossed[0].Bytes != 32182710+49292040+75685890+40310340 {
		t.Errorf("%+v", r)
	}
}

// TestDatagramsOfLaterVersions: their columns are other ones, also of a second without any.
func TestDatagramsOfLaterVersions(t *testing.T) {
	for _, c := range []struct {
		files            string
		lead, window     int
		bytes, got, sent uint64
	}{
		{"2.2.1/udp", 0, 1, 2500000, 2500, 2500},
		{"2.2.1/udp-stalled", 0, 2, 1744890, 1187, 1187},
	} {
		o := record.Options{MessageSize: 1000}
		r, err := trial{record.UDPStream, o, time.Duration(c.lead), time.Duration(c.window), c.files + ".server.txt", []string{c.files + ".client.txt"}}.result(t, nil)
		iferr.Fatal(t, err)
		rate := float64(c.got) / float64(c.window)
		if r.Bytes != c.bytes || r.Metrics[record.PacketRate].Value != rate || r.Metrics[record.Loss].Value != 1-float64(c.got)/float64(c.sent) {
			t.Errorf("%s: %+v", c.files, r)
		}
	}
	r, err := trial{record.UDPStream, record.Options{Streams: 2, MessageSize: 1300}, 1, 1, "2.2.1/udp-unlimited.server.txt", []string{"2.2.1/udp-unlimited.client.txt"}}.result(t, nil)
	iferr.Fatal(t, err)
	if want := float64(67654+52960) / float64(134818+117588); r.Bytes != 87313200+84016400 || r.Metrics[record.Loss].Value != want || r.Metrics[record.PacketRate].Value != 67164+64628 {
		t.Errorf("%+v, want a loss of %v", r, want)
	}
}

func TestResultErrors(t *testing.T) {
	udp := trial{record.UDPStream, record.Options{}, 0, 1, "udp.server.txt", []string{"udp.client.txt"}}
	for _, c := range []struct {
		name   string
		trial  trial
		change func(*program.Outcome)
		want   string
	}{
		{"stalled all the time", trial{record.TCPStream, record.Options{}, 1, 1, "tcp-stalled.server.txt", []string{"tcp-stalled.client.txt"}}, nil, "flow 0: nothing was received"},
		{"no datagram in the window", trial{record.UDPStream, record.Options{}, 1, 1, "udp-stalled.server.txt", []string{"udp-stalled.client.txt"}}, nil, "flow 0: nothing was received"},
		{"too short", trial{record.TCPStream, record.Options{}, 1, 2, "two.server.txt", []string{"two.client2.txt"}}, nil, "receiver: no interval from 2 to 3 s"},
		{"more streams asked for", trial{record.TCPStream, record.Options{Streams: 3}, 0, 1, "tcp.server.txt", []string{"tcp.client.txt"}}, nil, "reports 1 flows, want 3"},
		{"a client that failed", two, func(o *program.Outcome) { o.Clients[0].Stderr = transcript(t, "killed.client.err") }, "tcp write failed: Connection reset by peer"},
		{"a server that complained", two, func(o *program.Outcome) { o.Servers[0].Stderr = transcript(t, "congestion.server.err") }, "server s: Attempt to set"},
		{"a server that said nothing", two, func(o *program.Outcome) { o.Servers[0].Stdout = "" }, "server s: reports nothing about the flow from 198.19.0.3:50524"},
		{"garbage", two, func(o *program.Outcome) { o.Clients[0].Stdout = "lorem ipsum" }, "reports 0 flows, want 1"},
		{"more lost than sent", udp, func(o *program.Outcome) {
			o.Servers[0].Stdout = strings.ReplaceAll(o.Servers[0].Stdout, "0/2501 ", "2502/2501 ")
		}, "2502 lost of 2501"},
		{"none sent", udp, func(o *program.Outcome) {
			o.Servers[0].Stdout = strings.ReplaceAll(o.Servers[0].Stdout, "0/2501 ", "0/0 ")
		}, "0 lost of 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.trial.result(t, c.change)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, error %v\ndoes not say %s", r, err, c.want)
			}
		})
	}
}

// TestTranslatedAddresses has a network between the two that gives clients other addresses, and
// other ports, too.
func TestTranslatedAddresses(t *testing.T) {
	translate := func(to string) func(o *program.Outcome) {
		return func(o *program.Outcome) {
			o.Servers[0].Stdout = strings.ReplaceAll(o.Servers[0].Stdout, "connected with 198.19.0.3 port 5", "connected with "+to)
		}
	}
	const address, port = "198.19.9.9 port 5", "198.19.9.9 port 4"
	one := trial{record.TCPStream, record.Options{Streams: 2}, 1, 1, "two.server.txt", []string{"two.client1.txt"}}
	other := trial{record.TCPStream, record.Options{}, 1, 1, "two.server.txt", []string{"two.client2.txt", "two.client2.txt"}}
	for _, c := range []struct {
		name     string
		trial    trial
		to       string
		bytes    []uint64 // by flow
		warnings int
	}{
		{"other addresses", one, address, []uint64{253564912, 263146096}, 0},
		{"other ports, one client", one, port, []uint64{276692992, 263146096}, 0},
		{"other ports, two clients", other, port, []uint64{276692992, 263146096}, 1},
		{"a port of two clients", other, address, []uint64{276692992, 263146096}, 1},
	} {
		r, err := c.trial.result(t, translate(c.to))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, f := range r.Flows {
			if f.Bytes != c.bytes[i] {
				t.Errorf("%s: flow %d has %d bytes, want %d", c.name, i, f.Bytes, c.bytes[i])
			}
		}
		if len(r.Warnings) != c.warnings || c.warnings > 0 && r.Warnings[0].Code != "flows-mixed" {
			t.Errorf("%s: %v", c.name, r.Warnings)
		}
	}
}

// TestMatchOfPeersSeenTwice has a server that reports a client's address twice, and a stranger's.
func TestMatchOfPeersSeenTwice(t *testing.T) {
	at := netip.MustParseAddrPort
	server := report{flows: []flow{{id: 1, peer: at("198.18.0.9:7")}, {id: 2, peer: at("198.18.0.9:7")}, {id: 3, peer: at("198.18.0.3:5")}, {id: 4, peer: at("198.18.0.3:5")}, {id: 5, peer: at("198.18.0.4:5")}}}
	clients := []report{{flows: []flow{{id: 1, local: at("198.18.0.4:5")}}}, {flows: []flow{{id: 1, local: at("198.18.0.3:5")}}}}
	j := workload.Job{Pairs: []workload.Pair{{Server: workloadtest.Endpoint("s")}, {Server: workloadtest.Endpoint("s")}}}
	all, warnings, err := match(j, clients, []report{server}, []int{0, 0})
	if err != nil || len(warnings) > 0 || all[0][0].server.id != 5 || all[1][0].server.id != 3 {
		t.Errorf("%+v, %v, %v", all, warnings, err)
	}
}
