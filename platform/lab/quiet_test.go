package lab_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

func TestContainersSendNothingOnTheirOwn(t *testing.T) {
	h := hostsOf(t, platform.HostRequest{Count: 1})[0]
	all, err := h.Containers(t.Context(), 200) // more than one mount of /proc is for, on each thread
	iferr.Fatal(t, err)
	for _, e := range append(all, h) {
		ns := e.Facts().NetNS
		for key, loud := range map[string]string{
			"accept_dad": "1", "router_solicitations": "-1", "mldv2_unsolicited_report_interval": "1000",
		} {
			if got, err := netns.Sysctl(ns, "net/ipv6/conf/default/"+key); err != nil || got == loud {
				t.Fatalf("%s: %s is %s (%v), as in every namespace", e.Name(), key, got, err)
			}
		}
		err := nl.With(ns, func(n *nl.NS) error {
			lo, err := n.Link("lo")
			if err == nil && lo.Attrs().RawFlags&unix.IFF_UP == 0 {
				t.Fatalf("%s: lo is down", e.Name())
			}
			return err
		})
		iferr.Fatal(t, err)
	}
}
