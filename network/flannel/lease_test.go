package flannel

import (
	"strings"
	"testing"
)

func TestSubnetFile(t *testing.T) {
	const good = "FLANNEL_NETWORK=198.19.0.0/16\nFLANNEL_SUBNET=198.19.16.1/20\nFLANNEL_IPV6_SUBNET=2001:2:0:2::1/64\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=false\n"
	l, err := parse(good, true)
	if err != nil || l.mtu != 1450 || l.subnet4.String() != "198.19.16.1/20" || l.subnet6.String() != "2001:2:0:2::1/64" {
		t.Errorf("%+v, %v", l, err)
	}
	for text, want := range map[string]string{
		"": "FLANNEL_SUBNET",
		strings.Replace(good, "198.19.16.1/20", "198.19.16.1", 1): "FLANNEL_SUBNET",
		strings.Replace(good, "IPV6_SUBNET", "IPV7_SUBNET", 1):    "FLANNEL_IPV6_SUBNET",
		strings.Replace(good, "1450", "many", 1):                  "FLANNEL_MTU",
	} {
		if _, err := parse(text, true); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%q: %v, want an error of %s", text, err, want)
		}
	}
}
