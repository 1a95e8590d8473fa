package kube

import (
	"reflect"
	"testing"
)

// TestClaims reads annotations as flannel and Calico write them.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		annotations map[string]string
		want        Claim
	}{
		{nil, Claim{}},
		{map[string]string{"flannel.alpha.coreos.com/backend-type": "vxlan", "flannel.alpha.coreos.com/public-ip": "192.0.2.1"}, Claim{"flannel", []string{"vxlan"}}},
		{map[string]string{"flannel.alpha.coreos.com/backend-type": "host-gw"}, Claim{By: "flannel"}},
		{map[string]string{"flannel.alpha.coreos.com/backend-type": "tencent-vpc"}, Claim{}},
		{map[string]string{"projectcalico.org/IPv4Address": "192.0.2.1/24"}, Claim{By: "Calico"}},
		{map[string]string{"projectcalico.org/IPv4Address": "192.0.2.1/24", "projectcalico.org/IPv4IPIPTunnelAddr": "10.0.0.1"}, Claim{"Calico", []string{"ipip"}}},
		{
			map[string]string{"projectcalico.org/IPv6Address": "2001:db8::1/64", "projectcalico.org/IPv6VXLANTunnelAddr": "fd00::1", "projectcalico.org/IPv4WireguardInterfaceAddr": "10.0.0.2"},
			Claim{"Calico", []string{"vxlan", "wireguard"}},
		},
	} {
		if got := claimed(c.annotations); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, want %+v", c.annotations, got, c.want)
		}
	}
}
