package iperf

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/workload/workloadtest"
)

// transcript returns one of version 2.1.8, unless the name begins with another.
func transcript(t testing.TB, name string) string {
	if !strings.Contains(name, "/") {
		name = "2.1.8/" + name
	}
	return workloadtest.Transcript(t, name)
}

func mustParse(t *testing.T, name string) report {
	t.Helper()
	r, err := parse(transcript(t, name))
	iferr.Fatal(t, err)
	return r
}

// TestParse counts the flows and intervals of all transcripts; TestResult checks the figures.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		name                            string
		flows, reads, writes, datagrams int
	}{
		{"tcp.client.txt", 1, 0, 3, 0},
		{"tcp.server.txt", 1, 3, 0, 0},
		{"tcp6.client.txt", 1, 0, 3, 0},
		{"tcp6.server.txt", 1, 3, 0, 0},
		{"tcp-parallel.client.txt", 2, 0, 8, 0},
		{"tcp-parallel.server.txt", 2, 8, 0, 0},
		{"tcp-reverse.client.txt", 2, 6, 0, 0},
		{"tcp-reverse.server.txt", 2, 0, 6, 0},
		{"tcp-bidir.client.txt", 2, 8, 8, 0},
		{"tcp-bidir.server.txt", 2, 8, 8, 0},
		{"tcp-stalled.client.txt", 1, 0, 6, 0},
		{"tcp-stalled.server.txt", 1, 6, 0, 0},
		{"udp.client.txt", 1, 0, 2, 1},
		{"udp.server.txt", 1, 0, 0, 3},
		{"udp6.client.txt", 1, 0, 3, 1},
		{"udp6.server.txt", 1, 0, 0, 3},
		{"udp-unlimited.client.txt", 2, 0, 6, 2},
		{"udp-unlimited.server.txt", 2, 0, 0, 8},
		{"udp-stalled.server.txt", 1, 0, 0, 6},
		{"window.client.txt", 1, 0, 3, 0},
		{"window.server.txt", 1, 3, 0, 0},
		{"two.client1.txt", 2, 0, 8, 0},
		{"two.client2.txt", 1, 0, 4, 0},
		{"two.server.txt", 4, 13, 0, 0},
		{"killed.client.txt", 1, 0, 2, 0},
		{"refused.client.txt", 1, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustParse(t, c.name)
			n := [4]int{len(r.flows)}
			for _, f := range r.flows {
				for i, lines := range [][]interval{f.reads, f.writes, f.datagrams} {
					n[i+1] += len(lines)
				}
			}
			if want := [4]int{c.flows, c.reads, c.writes, c.datagrams}; n != want {
				t.Errorf("flows, reads, writes, datagrams: %v, want %v", n, want)
			}
		})
	}
}

func TestParseLines(t *testing.T) {
	client := mustParse(t, "tcp6.client.txt").flows[0]
	if client.peer != netip.MustParseAddrPort("[2001:2:0:1::2]:20001") || client.local.Addr() != netip.MustParseAddr("2001:2:0:1::3") || client.mss != 1428 {
		t.Errorf("%v to %v, MSS %d", client.local, client.peer, client.mss)
	}
	server := mustParse(t, "tcp6.server.txt").flows[0]
	if server.peer != client.local || server.local != client.peer {
		t.Errorf("%v to %v, the server has %v to %v", client.local, client.peer, server.local, server.peer)
	}
	write := interval{start: 0, end: 1, bytes: 1295908924, retransmits: 3291, cwnd: 356, rtt: 56, rttVar: 17}
	if got := mustParse(t, "tcp.client.txt").flows[0].writes[0]; got != write {
		t.Errorf("%+v, want %+v", got, write)
	}
	datagrams := interval{start: 1, end: 2, bytes: 32182710, jitter: 0.005, lost: 18786, sent: 40679, received: 21893}
	if got := mustParse(t, "udp-unlimited.server.txt").flows[0].datagrams[1]; got != datagrams {
		t.Errorf("%+v, want %+v", got, datagrams)
	}
	none := interval{start: 1, end: 2}
	for _, name := range []string{"udp-stalled.server.txt", "tcp-stalled.server.txt"} {
		f := mustParse(t, name).flows[0]
		if got := append(f.datagrams, f.reads...)[1]; got != none {
			t.Errorf("%s: %+v, want %+v", name, got, none)
		}
	}
}

// TestParsePower has a line whose last column, the program's own "power", is as small as after a stall.
func TestParsePower(t *testing.T) {
	r, err := parse("[  1] local 198.18.0.2%eth0 port 1 connected with 198.18.0.3 port 2 (sock=4)\n" +
		"[  1] 1.0000-3.8175 sec  127680 Bytes  45316 Bytes/sec  1/0          0     4604K/4926(9055) us  9.199363\n")
	want := interval{start: 1, end: 3.8175, bytes: 127680, cwnd: 4604, rtt: 4926, rttVar: 9055}
	if err != nil || r.flows[0].writes[0] != want {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestParseErrors(t *testing.T) {
	const flow = "[  1] local 198.18.0.2%eth0 port 1 connected with 198.18.0.3 port 2 (sock=4)\n"
	for _, c := range []struct{ name, text, want string }{
		{"a flow without a connection", "[  1] 0.0000-1.0000 sec  100 Bytes  100 Bytes/sec  1=1:0:0:0:0:0:0:0\n", "no flow 1"},
		{"two connections of a number", flow + flow, "a second flow 1"},
		{"unknown columns", flow + "[  1] 0.0000-1.0000 sec  100 Bytes  100 Bytes/sec  1 2 3\n", "unknown columns"},
		{"the columns of 2.2", flow + "[  1] 0.00-1.00 sec  100 MBytes  100 Mbits/sec  10/0  0  100K(10)/56(17) us  1\n", "not the text of a flow"},
		{"nan bytes", flow + "[  1] 0.0000-1.0000 sec  nan Bytes  nan Bytes/sec  1=1:0:0:0:0:0:0:0\n", "not the text of a flow"},
		{"nan flow", flow + "[  nan] 0.0000-1.0000 sec  1 Bytes  1 Bytes/sec  1=1:0:0:0:0:0:0:0\n", "not the text of a flow"},
		{"negative bytes", flow + "[  1] 0.0000-1.0000 sec  -5 Bytes  1 Bytes/sec  1=1:0:0:0:0:0:0:0\n", "not the text of a flow"},
		{"too many bytes", flow + "[  1] 0.0000-1.0000 sec  99999999999999999999 Bytes  1 Bytes/sec  1=1:0:0:0:0:0:0:0\n", "out of range"},
		{"nan jitter", flow + "[  1] 0.0000-1.0000 sec  10 Bytes  10 Bytes/sec  nan ms 0/1 (0%) 0.005/0.001/0.056/0.003 ms 2503 pps 2501/0(0) pkts 481117\n", "unknown columns"},
		{"no port", "[  1] local 198.18.0.2 port 70000 connected with 198.18.0.3 port 2 (sock=4)\n", "70000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parse(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, error %v\ndoes not say %s", r, err, c.want)
			}
		})
	}
}

func TestComplaints(t *testing.T) {
	for name, want := range map[string]string{
		"congestion.client.err":    "Attempt to set 'carrierpigeon' congestion control failed: No such file or directory",
		"congestion.server.err":    "Attempt to set 'carrierpigeon' congestion control failed: No such file or directory",
		"refused.client.err":       "tcp connect failed: Connection refused",
		"killed.client.err":        "tcp write failed: Connection reset by peer",
		"udp-unlimited.server.err": "",
	} {
		err := complaint(transcript(t, name))
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	iferr.Error(t, complaint("[  3] WARNING: ack of last datagram failed.\n"))
}

// TestJitterOfAFlowThatStalls has a flow receive nothing in the last second of its window.
func TestJitterOfAFlowThatStalls(t *testing.T) {
	f, err := cut([]interval{{end: 1, received: 5, jitter: 9}, {start: 1, end: 2, received: 5, jitter: 2}, {start: 2, end: 3}}, 1, 2)
	if err != nil || f.jitter != 2 {
		t.Errorf("%v, %v", f.jitter, err)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/2.1.8/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		iferr.Fatal(f, err)
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text)
		if err != nil {
			return
		}
		for _, f := range r.flows {
			if !f.local.IsValid() || !f.peer.IsValid() {
				t.Errorf("a flow from %v to %v", f.local, f.peer)
			}
			for _, lines := range [][]interval{f.reads, f.writes, f.datagrams} {
				got, err := cut(lines, 1, 2)
				if err == nil && got.all < got.bytes {
					t.Errorf("%+v", got)
				}
			}
		}
	})
}
