package runner_test

import (
	"net/netip"
	"strings"
	"testing"

	"nettoll/internal/nl/nft"
	"nettoll/internal/plumb"
	"nettoll/network"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/record"
	"nettoll/workload/engine"
)

func TestServerThatCannotBeReachedFailsTheTrial(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(t *testing.T, n *network.Network) error
	}{
		{"nobody listens", "connection refused", func(_ *testing.T, n *network.Network) error {
			addr := n.Addr
			n.Addr = func(from, to platform.Endpoint, f network.Family) (netip.Addr, error) {
				if to == n.Servers[0] && f == network.IPv4 {
					return plumb.Gateway(0, false), nil
				}
				return addr(from, to, f)
			}
			return nil
		}},
		{"all packets are dropped", "no answer within", func(t *testing.T, n *network.Network) error {
			fw, err := nft.New(host(n), "wall")
			if err != nil {
				return err
			}
			t.Cleanup(func() { fw.Close() })
			fw.BaseChain("forward", nft.Forward, true)
			return fw.Commit()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := altered(func(n *network.Network) error { return c.change(t, n) })
			tr := measure(t, lab.New(), engine.New(), a, 4)[0]
			if tr.Status != record.Failed || tr.Reason == "" || strings.Contains(tr.Reason, "\n") || tr.Metrics != nil {
				t.Errorf("%s with reason %q and figures %v, want failed with one line", tr.Status, tr.Reason, tr.Metrics)
			}
			if !strings.Contains(tr.Reason, "h1c2") || !strings.Contains(tr.Reason, c.want) {
				t.Errorf("reason %q does not name the client and say %q", tr.Reason, c.want)
			}
		})
	}
}
