package runner

import (
	"slices"
	"strings"
	"testing"

	"nettoll/network"
	"nettoll/record"
	"nettoll/sampler"
)

// twoHosts returns the evidence of a sound tunnel.
func twoHosts() evidence {
	offloads := map[string]bool{"tx-checksum": true}
	ev := evidence{
		sizes: []string{"--request-size", "--response-size"},
		ends: []record.Endpoint{
			{Name: "h2c1", Role: "client", Host: "h2", Device: "eth0", MTU: 1450, Offloads: offloads},
			{Name: "h1c1", Role: "server", Host: "h1", Device: "eth0", MTU: 1450, Offloads: offloads},
		},
		flows:   []record.Flow{{TCP: &record.TCPInfo{PMTU: 1450}}, {}},
		counted: map[string]uint64{"h2/IpForwDatagrams": 1000, "h1c1/TcpInSegs": 900},
		hosts:   []string{"h1", "h2"},
		path:    []device{{"h2", "vxlan0", "vxlan", 1450}, {"h2", "eth0", "veth", 1500}, {"h1", "eth0", "veth", 1500}, {"h1", "vxlan0", "vxlan", 1450}},
		uplinks: map[string]device{"h1": {"h1", "eth0", "veth", 1500}, "h2": {"h2", "eth0", "veth", 1500}},
	}
	ev.paths = [][]device{ev.path}
	return ev
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*evidence)
		want   []string // code, then parts of the text
	}{
		{"sound", func(*evidence) {}, nil},
		{"a daemon tries whether fragments arrive", func(s *evidence) { s.counted["h2/IpFragCreates"], s.probes = 82, 82 }, nil},
		{"a daemon does, and the payload is cut as well", func(s *evidence) { s.counted["h2/IpFragCreates"], s.probes = 83, 82 },
			[]string{record.FoundFragmentation, "h2 sent packets in 83 fragments"}},
		{"checksums at a host", func(s *evidence) { s.counted["h1/UdpInCsumErrors"] = 2 },
			[]string{record.FoundChecksums, "h1 threw away 2 segments", "ethtool -K eth0 tx off"}},
		{"checksums of both families", func(s *evidence) { s.counted["h1c1/UdpInCsumErrors"], s.counted["h1c1/Udp6InCsumErrors"] = 2, 3 },
			[]string{record.FoundChecksums, "h1c1 threw away 5 segments"}},
		{"checksums without offload", func(s *evidence) {
			s.counted["h1c1/TcpInCsumErrors"] = 7
			for i := range s.ends {
				s.ends[i].Offloads = nil
			}
		}, []string{record.FoundChecksums, "although the sender completes them: something on the path corrupts packets"}},
		{"checksums of a sender without offload", func(s *evidence) { s.counted["h1c1/TcpInCsumErrors"], s.ends[0].Offloads = 7, nil },
			[]string{record.FoundChecksums, "although the sender completes them"}},
		{"connection tracking is full", func(s *evidence) {
			s.counted["h1/conntrack.drop"], s.counted["h1/conntrack.insert_failed"], s.counted["h1/conntrack.early_drop"] = 70, 10, 3
			s.counted["h1c1/conntrack.drop"] = 5
		}, []string{record.FoundTracking, "connection tracking of h1 dropped 60 packets, and 3 connections for new ones", "nf_conntrack_max"}},
		{"two packets began the same connection", func(s *evidence) {
			s.counted["h1/conntrack.drop"], s.counted["h1/conntrack.insert_failed"] = 3, 5
		}, nil},
		{"neighbours have no room", func(s *evidence) {
			s.counted["h2c1/arp_cache.table_fulls"], s.counted["h2c1/ndisc_cache.table_fulls"], s.counted["h1c1/arp_cache.table_fulls"] = 4, 1, 4
		}, []string{record.FoundNeighbours, "machine that h2c1 is on", "full 5 times", "gc_thresh3"}},
		{"hosts cut", func(s *evidence) {
			s.ends[0].MTU = 1500
			s.counted["h2/IpFragCreates"], s.counted["h2/Ip6FragCreates"] = 30, 4
		}, []string{record.FoundFragmentation, "h2 sent packets in 34 fragments", "MTU of 1500", "set the containers' MTU to 1450"}},
		{"hosts cut, and nobody knows why", func(s *evidence) { s.counted["h2/IpFragCreates"], s.path = 30, nil },
			[]string{record.FoundFragmentation, "lower the containers' MTU by the size of the encapsulation"}},
		{"a sender cuts its own datagrams, and hosts what they put together", func(s *evidence) {
			s.counted["h2c1/IpFragCreates"], s.counted["h2/IpFragCreates"] = 30, 30
		}, []string{record.FoundFragmentation, "h2c1 sent its datagrams in 30 fragments", "(--request-size, --response-size)"}},
		{"something else in a TCP client's container cuts datagrams", func(s *evidence) {
			s.sizes, s.counted["h2c1/IpFragCreates"] = nil, 30
		}, []string{record.FoundFragmentation, "h2c1 sent 30 fragments of packets, as TCP itself does not"}},
		{"a few wrong checksums among many segments", func(s *evidence) {
			s.counted["h1c1/TcpInSegs"], s.counted["h1c1/TcpInCsumErrors"] = 9000, 5
		}, nil},
		{"TCP finds out", func(s *evidence) { s.flows[0].TCP.PMTU = 1400 },
			[]string{record.FoundMTU, "TCP found that its path carries only 1400", "set the containers' MTU to 1400"}},
		{"no room for the tunnel", func(s *evidence) { s.ends[1].MTU = 1460 },
			[]string{record.FoundMTU, "h1c1's eth0 has an MTU of 1460, but h2/vxlan0 on the path carries 1450"}},
		{"a device that is larger than what it adds to allows", func(s *evidence) {
			for i := range s.path {
				s.path[i].mtu = 1500
			}
			s.ends[0].MTU = 1500
		}, []string{record.FoundMTU, "h2/vxlan0 on the path carries 1450"}},
		{"larger than the uplink", func(s *evidence) { s.path, s.ends[0].MTU = nil, 9000 },
			[]string{record.FoundMTU, "h2c1's eth0 has an MTU of 9000, but h2/eth0 on the path carries 1500"}},
		{"a process relays the payload", func(s *evidence) { s.relayed, s.ends[1].MTU = true, 65520 }, nil},
		{"routes leave room for the tunnel, as some CNI plugins set them up", func(s *evidence) {
			for i := range s.ends {
				s.ends[i].MTU, s.ends[i].RouteMTU = 1500, 1450
			}
		}, nil},
		{"a route that leaves too little room", func(s *evidence) { s.ends[1].MTU, s.ends[1].RouteMTU = 1500, 1460 },
			[]string{record.FoundMTU, "the route at h1c1's eth0 has an MTU of 1460, but h2/vxlan0 on the path carries 1450", "set the MTU of the containers' routes to 1450"}},
		{"a process relays datagrams of one end that are larger than the other's MTU", func(s *evidence) {
			s.relayed, s.ends[1].MTU, s.counted["h2c1/IpFragCreates"] = true, 65520, 30
		}, []string{record.FoundFragmentation, "h2c1 sent its datagrams in 30 fragments", "larger than the MTU of 1450", "(--request-size, --response-size)"}},
		{"a process relays datagrams that are larger than its MTU", func(s *evidence) {
			s.relayed, s.ends[1].MTU, s.counted["h1/IpFragCreates"] = true, 65520, 30
		}, []string{record.FoundFragmentation, "h1 sent datagrams that a process there relays in 30 fragments", "(--request-size, --response-size)"}},
		{"a host's loopback", func(s *evidence) { s.ends[0].Device, s.ends[0].MTU = "lo", 65536 },
			[]string{record.FoundMTU, "h2c1's lo has an MTU of 65536, but h2/vxlan0 on the path carries 1450", "--normalize"}},
		{"one host", func(s *evidence) { s.path, s.uplinks, s.ends[0].MTU = nil, nil, 65536 }, nil},
		{"loopback", func(s *evidence) {
			s.path, s.uplinks, s.ends[0].MTU, s.ends[1].MTU, s.flows[0].TCP.PMTU = nil, nil, 65536, 65536, 65535
		}, nil},
		{"tunnel over a tunnel", func(s *evidence) { s.uplinks["h2"] = device{"h2", "wg0", "wireguard", 1500} },
			[]string{record.FoundNested, "h2/vxlan0 (vxlan) is a tunnel inside the tunnel h2/wg0 (wireguard)"}},
		{"the hosts' own tunnel", func(s *evidence) {
			s.uplinks = map[string]device{"h1": {"h1", "wg0", "wireguard", 1500}, "h2": {"h2", "wg0", "wireguard", 1500}}
			s.path = []device{s.uplinks["h2"], s.uplinks["h1"]}
			s.paths[0] = s.path
		}, nil},
		{"two tunnels on the path", func(s *evidence) { s.paths[0] = append(s.paths[0], device{"h1", "gre1", "gre", 1500}) },
			[]string{record.FoundNested, "h1/vxlan0 (vxlan) is a tunnel inside the tunnel h1/gre1 (gre)"}},
		{"tunnels to two hosts", func(s *evidence) {
			to := device{"h1", "vxlan3", "vxlan", 1450}
			s.path, s.paths = append(s.path, to), append(s.paths, []device{to})
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := twoHosts()
			c.change(&ev)
			got := findings(ev)
			if len(c.want) == 0 {
				if len(got) > 0 {
					t.Errorf("found %+v", got)
				}
				return
			}
			i := slices.IndexFunc(got, func(f finding) bool { return f.code == c.want[0] })
			if i < 0 || len(got) != 1 {
				t.Fatalf("found %+v, want %s alone", got, c.want[0])
			}
			for _, want := range c.want[1:] {
				if text := got[i].warning().Text; !strings.Contains(text, want) {
					t.Errorf("it says %q, not %q", text, want)
				}
			}
		})
	}
}

func TestBlackHole(t *testing.T) {
	ends := twoHosts().ends
	for _, c := range []struct {
		name      string
		reached   sampler.Reached
		announced bool
		carried   int
		want      string
	}{
		{"all crosses", sampler.Reached{There: 1450, Back: 1450}, true, 0, ""},
		{"more than the MTU was not tried", sampler.Reached{There: 1500, Back: 1450}, false, 0, ""},
		{"nothing crosses", sampler.Reached{}, false, 0, ""},
		{"nothing comes back", sampler.Reached{There: 1450}, false, 0, ""},
		{"there", sampler.Reached{There: 1400, Back: 1450}, false, 0, "MTU black hole: nothing larger than 1400 bytes crosses from h2c1, whose MTU is 1450, to h1c1: set the containers' MTU to 1400"},
		{"back", sampler.Reached{There: 1450, Back: 900}, false, 0, "nothing larger than 900 bytes crosses from h1c1, whose MTU is 1450, to h2c1"},
		{"announced", sampler.Reached{There: 900, Back: 900}, true, 0, "although a host on the path reports that packets are too large"},
		{"back, and less fits the devices", sampler.Reached{There: 1450, Back: 900}, false, 850, "to h2c1: set the containers' MTU to 850"},
		{"back, and more fits the devices", sampler.Reached{There: 1450, Back: 900}, false, 1400, "to h2c1: set the containers' MTU to 900"},
	} {
		f, ok := blackHole(ends[0], ends[1], c.reached, c.announced, c.carried)
		if ok != (c.want != "") || ok && !strings.Contains(f.warning().Text, c.want) {
			t.Errorf("%s: %v, %q, want %q", c.name, ok, f.warning().Text, c.want)
		}
	}
	small := ends[0]
	small.MTU = 1400
	if f, ok := blackHole(small, ends[1], sampler.Reached{There: 1400, Back: 1450}, false, 0); ok {
		t.Errorf("all that the client can send crosses: %q", f.warning().Text)
	}
}

func TestEndpointsMadeAlike(t *testing.T) {
	for under, want := range map[int]int{0: 1376, 1500: 1376, 9000: 8876, 1426: 1302, 1300: 1280} {
		if got := alikeMTU(record.Cell{MTU: under, Normalize: true}); got != want {
			t.Errorf("on an underlay of %d: an MTU of %d, want %d", under, got, want)
		}
	}
}

// TestDevicesThatThePayloadMustNotCross are no part of the path whose MTUs are compared, and nor is what is not known.
func TestDevicesThatThePayloadMustNotCross(t *testing.T) {
	s := &session{r: &Runner{}, network: &network.Network{}, known: map[string]device{}}
	for _, name := range []string{"eth0", "br0", "up0"} {
		s.known["h1/"+name] = device{"h1", name, "veth", 1500}
	}
	ends := agents{}
	client, server := ends.in(named("h1c1"), "client", 0), ends.in(named("h1c2"), "server", 0)
	l := link{client: client, server: server, hops: []network.Hop{
		{Name: "h1/br0", Kind: network.Device}, {Name: "h1/up0", Kind: network.Device, Absent: true}, {Name: "h1/rule", Kind: network.Rule}, {Name: "h2/eth0", Kind: network.Device},
	}}
	ev, err := s.evidence(&record.Trial{Cell: record.Cell{Workload: record.UDPRR}}, []link{l})
	if !slices.Contains(ev.sizes, "--request-size") {
		t.Errorf("sizes of its datagrams: %v", ev.sizes)
	}
	if err != nil || !slices.Equal(record.Each(ev.path, device.String), []string{"h1/br0"}) || len(ev.paths) != 1 || len(ev.paths[0]) != 1 {
		t.Errorf("%+v, %v, want h1/br0 alone", ev.path, err)
	}
}
