package kube

import (
	"reflect"
	"testing"
)

// TestClaims reads annotations as flannel and Calico write them, which has tunnels for each IP version.
func TestClaims(t *testing.T) {
	both := func(c Claim) Claims { return Claims{c, c} }
	for _, c := range []struct {
		annotations map[string]string
		want        Claims
	}{
		{nil, Claims{}},
		{map[string]string{"flannel.alpha.coreos.com/backend-type": "vxlan", "flannel.alpha.coreos.com/public-ip": "192.0.2.1"}, both(Claim{"flannel", []string{"vxlan"}})},
		{map[string]string{"flannel.alpha.coreos.com/backend-type": "host-gw"}, both(Claim{By: "flannel"})},
		{map[string]string{"flannel.alpha.coreos.com/backend-type": "tencent-vpc"}, Claims{}},
		{map[string]string{"projectcalico.org/IPv4Address": "192.0.2.1/24"}, Claims{IPv4: Claim{By: "Calico"}}},
		{map[string]string{"projectcalico.org/IPv4Address": "192.0.2.1/24", "projectcalico.org/IPv4IPIPTunnelAddr": "10.0.0.1"}, Claims{IPv4: Claim{"Calico", []string{"ipip"}}}},
		{
			map[string]string{"projectcalico.org/IPv6Address": "2001:db8::1/64", "projectcalico.org/IPv6VXLANTunnelAddr": "fd00::1", "projectcalico.org/IPv6WireguardInterfaceAddr": "fd00::2"},
			Claims{IPv6: Claim{"Calico", []string{"vxlan", "wireguard"}}},
		},
		{
			map[string]string{"projectcalico.org/IPv4Address": "192.0.2.1/24", "projectcalico.org/IPv6Address": "2001:db8::1/64", "projectcalico.org/IPv4VXLANTunnelAddr": "10.0.0.1"},
			Claims{Claim{"Calico", []string{"vxlan"}}, Claim{By: "Calico"}},
		},
	} {
		if got := claimed(c.annotations); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, want %+v", c.annotations, got, c.want)
		}
	}
}
