package reference

import (
	"strings"
	"testing"
)

// Figures as printed, typed from the publications a second time.
func TestFigures(t *testing.T) {
	for _, tt := range []struct {
		source, table, network, label, as string
		value                             float64
		unit                              string
	}{
		{ICC2014, "one server, many clients", "iptables", "1", "iptables", 10.0, "Gbit/s"},
		{ICC2014, "one server, many clients", "ovs", "20", "ovs|ovs-userspace-tso", 1.4, "Gbit/s"},
		{ICC2014, "one server, many clients", "pipework", "4", "pipework-veth", 5.1, "Gbit/s"},
		{ICC2014, "many servers, many clients", "link", "2x2", "link", 9.1, "Gbit/s"},
		{ICC2014, "many servers, many clients", "iptables", "20x20", "iptables", 0.8, "Gbit/s"},
		{ICC2014, "one server, containers x clients in each", "pipework", "1x4", "pipework-veth", 3.38, "Gbit/s"},
		{ICC2014, "one server, containers x clients in each", "pipework", "4x1", "pipework-veth", 4.99, "Gbit/s"},
		{ICC2014, "one server, containers x clients in each", "link", "16x16", "link", 0, "Gbit/s"},
		{ICC2014, "one server, containers x clients in each", "ovs", "16x1", "ovs|ovs-userspace-tso", 1.99, "Gbit/s"},
		{Overlay2015, "throughput", "host", "virtualbox", "native", 1720, "Mbit/s"},
		{Overlay2015, "throughput", "overlay", "virtualbox", "vxlan", 896, "Mbit/s"},
		{Overlay2015, "throughput", "host", "digitalocean", "native", 932, "Mbit/s"},
		{Overlay2015, "throughput", "overlay", "digitalocean", "vxlan", 882, "Mbit/s"},
		{Cloud2015, "iperf3 throughput relative to native", "flannel-udp", "t2.micro", "flannel-udp|udp-overlay-tun", -16, "percent"},
		{Cloud2015, "iperf3 throughput relative to native", "flannel-udp", "m4.xlarge", "flannel-udp|udp-overlay-tun", 0, "percent"},
		{Cloud2015, "iperf3 throughput relative to native", "flannel-vxlan", "m4.10xlarge", "flannel-vxlan|vxlan", -20, "percent"},
		{Cloud2015, "iperf3 throughput relative to native", "weave-pcap", "m4.10xlarge", "weave-sleeve|udp-overlay-packet", -79, "percent"},
		{Cloud2015, "iperf3 throughput relative to native", "calico", "t2.medium", "calico-bgp|routed-bgp|routed", -3, "percent"},
		{Cloud2015, "CPU load during iperf3, client", "flannel-udp", "t2.micro", "flannel-udp|udp-overlay-tun", 62.7, "percent of the machine"},
		{Cloud2015, "CPU load during iperf3, server", "weave-pcap", "t2.micro", "weave-sleeve|udp-overlay-packet", 89.5, "percent of the machine"},
		{Cloud2015, "CPU load during iperf3, client", "calico", "m4.10xlarge", "calico-bgp|routed-bgp|routed", 3, "percent of the machine"},
		{Cloud2015, "CPU load during iperf3, server", "calico", "m4.10xlarge", "calico-bgp|routed-bgp|routed", 4, "percent of the machine"},
		{Cloud2015, "CPU load during iperf3, server", "flannel-vxlan", "m4.xlarge", "flannel-vxlan|vxlan", 7.3, "percent of the machine"},
		{Cloud2015, "CPU load above native, client", "weave-pcap", "m4.xlarge", "weave-sleeve|udp-overlay-packet", 367, "percent of native"},
		{Cloud2015, "CPU load above native, server", "weave-pcap", "m4.xlarge", "weave-sleeve|udp-overlay-packet", 244, "percent of native"},
		{Cloud2015, "CPU load above native, server", "calico", "t2.medium", "calico-bgp|routed-bgp|routed", 184, "percent of native"},
		{Cloud2015, "CPU load above native, client", "flannel-vxlan", "m4.large", "flannel-vxlan|vxlan", 35, "percent of native"},
		{HostBridge, "bandwidth", "bridge", "same host", "bridge", 4024, "MB/s"},
		{HostBridge, "bandwidth", "physical", "same host", "loopback", 4874, "MB/s"},
		{HostBridge, "bandwidth", "bridge", "two hosts", "published", 1010, "MB/s"},
		{HostBridge, "latency", "host", "same host", "host", 7.9, "us"},
		{HostBridge, "latency", "physical", "two hosts", "native", 17.1, "us"},
		{SingleNode2017, "throughput", "lo", "ipv4", "loopback", 24.38, "GB/s"},
		{SingleNode2017, "throughput", "sharedns", "ipv6", "sharedns", 2.65, "GB/s"},
		{SingleNode2017, "throughput", "veth", "ipv4 without iptables", "", 4.97, "GB/s"},
	} {
		s, _ := ByName(tt.source)
		table, ok := s.Table(tt.table)
		p, found := table.Cell(tt.network, tt.label)
		if !ok || !found {
			t.Errorf("%s has no %s at %s of %q", tt.source, tt.network, tt.label, tt.table)
			continue
		}
		if !p.Given() || p.Value != tt.value || table.Unit != tt.unit || p.As != tt.as {
			t.Errorf("%s, %s at %s is %+v, want %v %s as %q", tt.source, tt.network, tt.label, p, tt.value, tt.unit, tt.as)
		}
	}
}

// A figure that a source does not give remains a cell without a number.
func TestMissing(t *testing.T) {
	s, _ := ByName(SingleNode2017)
	for network, says := range map[string]string{"bridge": `"6.81 Gb/s as printed"`, "lo": "does not give", "sharedns": "does not give"} {
		p, found := s.Tables[0].Cell(network, "ipv4 without iptables")
		if !found || p.Given() || p.Value != 0 || !strings.Contains(p.Missing, says) {
			t.Errorf("%s is %+v, want nothing that %s", network, p, says)
		}
	}
}

// The sum of all numbers of a table reveals a mistyped digit anywhere.
func TestSums(t *testing.T) {
	for _, tt := range []struct {
		source string
		table  int
		n      int
		sum    float64
	}{
		{ICC2014, 0, 24, 26.1 + 30.1 + 29.7 + 37.3},
		{ICC2014, 1, 16, 23.4 + 28.4 + 27.3 + 31.0},
		{ICC2014, 2, 30, 47.13 + 43.6 + 59.92},
		{Overlay2015, 0, 4, 4430},
		{Cloud2015, 0, 20, -73 - 25 - 98 - 51},
		{Cloud2015, 1, 20, 119 + 51.6 + 184.1 + 79},
		{Cloud2015, 2, 20, 74.8 + 62.6 + 179.8 + 129},
		{Cloud2015, 3, 12, 295 + 110 + 986 + 333},
		{Cloud2015, 4, 12, 147 + 93 + 586 + 406},
		{HostBridge, 0, 6, 13537 + 3058},
		{HostBridge, 1, 6, 23.67 + 54.6},
		{SingleNode2017, 0, 8, 24.38 + 4.88 + 2.49 + 2.91 + 4.97 + 4.88},
	} {
		s, _ := ByName(tt.source)
		n, sum := 0, 0.0
		for _, p := range s.Tables[tt.table].Cells {
			if p.Given() {
				n, sum = n+1, sum+p.Value
			}
		}
		if d := sum - tt.sum; n != tt.n || d > 1e-9 || d < -1e-9 {
			t.Errorf("%s, table %d: %d figures of %v in all, want %d of %v", tt.source, tt.table, n, sum, tt.n, tt.sum)
		}
	}
}

func TestRatios(t *testing.T) {
	for _, tt := range []struct {
		source, table, network, label string
		want                          float64
		none                          bool
	}{
		{ICC2014, "one server, many clients", "ovs", "1", 1.32, false},
		{ICC2014, "one server, many clients", "iptables", "1", 1, false},
		{Cloud2015, "iperf3 throughput relative to native", "weave-pcap", "m4.10xlarge", 0.21, false},
		{Cloud2015, "CPU load above native, client", "calico", "t2.medium", 1.15, false},
		{SingleNode2017, "throughput", "bridge", "ipv6", 0, true}, // lo is not given
	} {
		s, _ := ByName(tt.source)
		table, _ := s.Table(tt.table)
		p, _ := table.Cell(tt.network, tt.label)
		got, ok := p.RatioIn(table)
		if ok == tt.none || got-tt.want > 1e-9 || got-tt.want < -1e-9 {
			t.Errorf("%s of %s at %s is %v, %v; want %v", tt.network, tt.source, tt.label, got, ok, tt.want)
		}
	}
}
