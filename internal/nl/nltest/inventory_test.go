package nltest

import (
	"testing"

	"nettoll/internal/nl"
)

func TestAddressesAreInAStableOrder(t *testing.T) {
	d := nl.Device{Name: "kube-ipvs0", Kind: "dummy", MTU: 1500, Addrs: []string{"198.18.64.16/32", "198.18.64.1/32", "2001:2:0:100::10/128", "2001:2::1/128"}}
	want := "device kube-ipvs0 (dummy) mtu 1500 198.18.64.1/32 198.18.64.16/32 2001:2::1/128 2001:2:0:100::10/128"
	if got := device(d); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
