package ovs

import (
	"maps"
	"testing"

	"nettoll/network"
)

func TestRulesAreReadByPort(t *testing.T) {
	got, err := parseRules(`duration=7s, n_packets=12, n_bytes=3456, in_port=1,actions=NORMAL
duration=7s, n_packets=18446744073709551615, n_bytes=0, priority=32768,in_port=60002,actions=NORMAL
duration=7s, n_packets=5, n_bytes=6, priority=0,actions=NORMAL
table_id=254, duration=7s, n_packets=9, n_bytes=9, priority=0,reg0=0x1,actions=controller(reason=)
`)
	want := map[int]network.Count{1: {Packets: 12, Bytes: 3456}, 60002: {Packets: 1<<64 - 1}}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestComplaintsAreAboutTheDatapath(t *testing.T) {
	for line, want := range map[string][2]bool{ // a complaint with veth ports, and with internal ones
		"ofproto_dpif|ERR|failed to open datapath of type system: No such file or directory":      {true, true},
		"netdev|WARN|failed to set MTU for network device tap0: No such device":                   {true, false},
		"timeval|WARN|Unreasonably long 1122ms poll interval (4ms user, 219ms system)":            {false, false},
		"dpif|WARN|failed to enumerate system datapaths: No such file or directory":               {false, false},
		"ofproto_dpif_upcall(revalidator3)|WARN|Spent an unreasonably long 12345ms dumping flows": {false, false},
		"bridge|INFO|bridge br0: added interface veth0 on port 2":                                 {false, false},
	} {
		got := [2]bool{variant{ports: veth}.complaint(line), variant{ports: internal}.complaint(line)}
		if got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
