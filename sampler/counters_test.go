package sampler

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/internal/testutil/iferr"
)

func TestCountersOfTheFixture(t *testing.T) {
	got, err := Counters("testdata/proc")
	iferr.Fatal(t, err)
	want := map[string]uint64{
		"IpForwarding": 1, "IpDefaultTTL": 64, "IpInReceives": 1000, "IpOutRequests": 900,
		// TcpMaxConn is -1: no limit.
		"TcpRtoAlgorithm": 1, "TcpRtoMin": 200, "TcpRtoMax": 120000, "TcpActiveOpens": 10, "TcpCurrEstab": 3,
		"TcpInSegs": 5000, "TcpOutSegs": 6000, "TcpRetransSegs": 42,
		"TcpExtSyncookiesSent": 0, "TcpExtTCPTimeouts": 7, "TcpExtTCPLostRetransmit": 2,
		"IpExtInNoRoutes": 0, "IpExtInOctets": 18446744073709551615,
		"Ip6InReceives": 77, "Icmp6OutMsgs": 8,
		"lo.rx_bytes": 1000, "lo.rx_packets": 10, "lo.rx_errors": 0, "lo.rx_dropped": 0, "lo.rx_fifo": 0,
		"lo.rx_frame": 0, "lo.rx_compressed": 0, "lo.rx_multicast": 0,
		"lo.tx_bytes": 1000, "lo.tx_packets": 10, "lo.tx_errors": 0, "lo.tx_dropped": 0, "lo.tx_fifo": 0,
		"lo.tx_collisions": 0, "lo.tx_carrier": 0, "lo.tx_compressed": 0,
		"eth0.rx_bytes": 123456789, "eth0.rx_packets": 1001, "eth0.rx_errors": 1, "eth0.rx_dropped": 2, "eth0.rx_fifo": 3,
		"eth0.rx_frame": 4, "eth0.rx_compressed": 5, "eth0.rx_multicast": 6,
		"eth0.tx_bytes": 987654321, "eth0.tx_packets": 2002, "eth0.tx_errors": 7, "eth0.tx_dropped": 8, "eth0.tx_fifo": 9,
		"eth0.tx_collisions": 10, "eth0.tx_carrier": 11, "eth0.tx_compressed": 12,
		"softnet.processed": 0x0a + 0xff, "softnet.dropped": 0x01 + 0x10, "softnet.time_squeeze": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// fixture copies the fixture's files into a new /proc.
func fixture(t *testing.T) (proc, net string) {
	t.Helper()
	proc = t.TempDir()
	iferr.Fatal(t, os.CopyFS(proc, os.DirFS("testdata/proc")))
	return proc, filepath.Join(proc, "self", "net")
}

func TestCountersNameTheFileThatIsWrong(t *testing.T) {
	head := "a\nb\n"
	for _, c := range []struct{ name, file, text string }{
		{"value that is no number", "snmp", "Tcp: InSegs\nTcp: many\n"},
		{"value too large", "snmp", "Tcp: InSegs\nTcp: 18446744073709551616\n"},
		{"too few values", "snmp", "Tcp: InSegs OutSegs\nTcp: 1\n"},
		{"values of something else", "netstat", "TcpExt: A\nIpExt: 1\n"},
		{"names without values", "netstat", "TcpExt: A\n"},
		{"blank lines", "netstat", "\n\n"},
		{"name without value", "snmp6", "Ip6InReceives\n"},
		{"negative", "snmp6", "Ip6InReceives -1\n"},
		{"too few columns", "dev", head + "eth0: 1 2 3\n"},
		{"no device", "dev", head + "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"},
		{"column that is no number", "dev", head + "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x\n"},
		{"too few columns", "softnet_stat", "0000000a 00000001\n"},
		{"too few columns", "stat/nf_conntrack", "entries  drop\n00000001\n"},
		{"not hexadecimal", "stat/nf_conntrack", "entries  drop\n00000001  0000000g\n"},
		{"not hexadecimal", "softnet_stat", "0000000a 00000001 0000000g\n"},
	} {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			proc, net := fixture(t)
			path := filepath.Join(net, c.file)
			iferr.Fatal(t, os.MkdirAll(filepath.Dir(path), 0o755))
			iferr.Fatal(t, os.WriteFile(path, []byte(c.text), 0o644))
			_, err := Counters(proc)
			if err == nil || !strings.Contains(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want one line that names %s", err, path)
			}
		})
	}
}

// TestTracking checks that what connection tracking lost is summed over all CPUs, and may be missing.
func TestTracking(t *testing.T) {
	proc, net := fixture(t)
	if got, err := Tracking(proc); err != nil || len(got) > 0 {
		t.Errorf("without connection tracking: %v, %v", got, err)
	}
	iferr.Fatal(t, os.Mkdir(filepath.Join(net, "stat"), 0o755))
	iferr.Fatal(t, os.WriteFile(filepath.Join(net, "stat/nf_conntrack"), []byte(
		"entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart\n"+
			"00000010  00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008 00000009 0000000a 0000000b 0000000c  0000000d 0000000e 0000000f 00000010\n"+
			"00000010  00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008 00000001 00000010 00000002 0000000c  0000000d 0000000e 0000000f 00000010\n"), 0o644))
	for name, read := range map[string]func(string) (map[string]uint64, error){"Tracking": Tracking, "Counters": Counters} {
		got, err := read(proc)
		iferr.Fatal(t, err)
		for counter, want := range map[string]uint64{CounterTrackClashed: 10, CounterTrackDropped: 26, CounterTrackEvicted: 13} {
			if got[counter] != want {
				t.Errorf("%s: %s is %d, want %d", name, counter, got[counter], want)
			}
		}
	}
}

func TestOnlyAKernelWithoutIPv6MayLackCounters(t *testing.T) {
	for _, name := range []string{"snmp", "netstat", "snmp6", "dev", "softnet_stat"} {
		proc, net := fixture(t)
		path := filepath.Join(net, name)
		iferr.Fatal(t, os.Remove(path))
		got, err := Counters(proc)
		switch {
		case name != "snmp6" && (err == nil || !strings.Contains(err.Error(), path)):
			t.Errorf("without %s the error is %v", name, err)
		case name == "snmp6" && (err != nil || got["TcpRetransSegs"] != 42):
			t.Errorf("without %s: %v, %d retransmits", name, err, got["TcpRetransSegs"])
		}
	}
}

func TestDeltaKeepsWhatGrew(t *testing.T) {
	from := map[string]uint64{"grew": 5, "same": 7, "fell": 9, "gone": 3, "below": 1}
	to := map[string]uint64{"grew": 8, "same": 7, "fell": 1, "new": 4, "zero": 0, "below": math.MaxUint64} // −1
	want := map[string]uint64{"grew": 3, "new": 4}
	if diff := cmp.Diff(want, Delta(from, to)); diff != "" {
		t.Errorf("delta (-want +got):\n%s", diff)
	}
}
