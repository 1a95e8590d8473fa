package plumb_test

import (
	"errors"
	"testing"

	"nettoll/internal/plumb"
	"nettoll/platform"
)

// uplink is a host of which only the MTU is known; 0 is the user's own machine, which has no uplink.
type uplink struct {
	platform.Host
	mtu int
}

func (u uplink) Facts() platform.Facts { return platform.Facts{Borrowed: u.mtu == 0} }

func (u uplink) Uplink() platform.Uplink { return platform.Uplink{MTU: u.mtu} }

func TestFits(t *testing.T) {
	even := func(mtu int) int { return (mtu - 50) &^ 1 } // as with padding
	for _, c := range []struct {
		mtus     []int
		families []int
		inner    func(int) int
		remedy   string
	}{
		{[]int{1500, 1330}, nil, plumb.Less(50), ""},
		{[]int{1500, 1329}, nil, plumb.Less(50), "--mtu 1330"},
		{[]int{1500, 1329}, []int{4, 6}, plumb.Less(50), "--mtu 1330"},
		{[]int{1280}, nil, plumb.Less(0), ""},
		{[]int{1300}, nil, even, "--mtu 1330"},
		{[]int{1280}, []int{4}, plumb.Less(88), ""},
		{[]int{600}, []int{4}, plumb.Less(88), "--mtu 664"},
		{[]int{0}, nil, plumb.Less(50), "use --private-engine, which starts an engine on a host of the lab, or measure this network in the lab itself"},
	} {
		s := &plumb.Site{}
		for _, mtu := range c.mtus {
			s.Hosts = append(s.Hosts, &plumb.Host{Host: uplink{mtu: mtu}})
		}
		err := s.Fits("vxlan", c.families, c.inner)
		var small *platform.Unsupported
		if errors.As(err, &small) != (c.remedy != "") || small != nil && small.Remedy != c.remedy {
			t.Errorf("%v: %v, want the remedy %q", c.mtus, err, c.remedy)
		}
	}
}
