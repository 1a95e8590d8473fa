package kube_test

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"nettoll/internal/nsexec"
	"nettoll/internal/testutil/iferr"
	"nettoll/kube"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

// TestServes has two ports of a service of IPv4 and one of a service of IPv6 in a node's rules, as kube-proxy writes them.
func TestServes(t *testing.T) {
	_, err := exec.LookPath("ip6tables-restore")
	platformtest.Require(t, "iptables", err)
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	node, four, six, none := hosts.All()[0], kube.ServiceAddr(0, false), kube.ServiceAddr(0, true), kube.ServiceAddr(1, false)
	rule := func(at netip.Addr, protocol string) string {
		return fmt.Sprintf("-A KUBE-SERVICES -d %s -p %s -m comment --comment \"default/service-1 cluster IP\" -m %[2]s --dport 20001 -j KUBE-SVC-A\n", at, protocol)
	}
	for program, rules := range map[string]string{
		"iptables-restore": rule(four, "tcp") + rule(four, "udp"), "ip6tables-restore": rule(six, "tcp"),
	} {
		iferr.Fatal(t, nsexec.Run(t.Context(), node, platform.Command{
			Path: program, Stdin: strings.NewReader("*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC-A - [0:0]\n" + rules + "COMMIT\n"),
		}))
	}
	for _, c := range []struct {
		want  map[netip.Addr]int
		wrong string
	}{
		{map[netip.Addr]int{four: 2, six: 1, none: 0}, ""},
		{map[netip.Addr]int{four: 4}, "h1 translates 2 of 4 ports of the service " + four.String()},
		{map[netip.Addr]int{six: 2}, "h1 translates 1 of 2 ports of the service " + six.String()},
		{map[netip.Addr]int{none: 2}, "h1 translates 0 of 2 ports of the service " + none.String()},
		{map[netip.Addr]int{four: 0}, "h1 translates 2 of 0 ports of the service " + four.String()}, // it is gone, and its rules are not
	} {
		got := ""
		if err := kube.IPTables.Serves(t.Context(), node, c.want); err != nil {
			got = err.Error()
		}
		if got != c.wrong {
			t.Errorf("%v: %q, want %q", c.want, got, c.wrong)
		}
	}
}
