package report

import (
	"strings"
	"testing"

	"nettoll/analysis"
)

func TestNodeDaemonsAreShown(t *testing.T) {
	res, options := specimenResult()
	for _, f := range []string{"text", "md", "html"} {
		const title = "What the daemons of the nodes use"
		res.NodeUses = nil
		if strings.Contains(write(t, f, res, options), title) {
			t.Errorf("%s: daemons of nodes are shown that nobody saw", f)
		}
		res.NodeUses = []analysis.NodeUse{{
			Cell: res.Scenarios[0].Rows[0].Cell, Trials: 7, Daemons: []analysis.DaemonUse{
				{Name: "kubelet", Use: analysis.Spread{Median: 0.125, Max: 0.25}}, {Name: "kube-proxy"},
			},
		}}
		got := write(t, f, res, options)
		for _, want := range []string{title, "how much is not known", "kubelet, % of a CPU", "kube-proxy, % of a CPU", "12.5", "up to 25"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it does not say %q", f, want)
			}
		}
	}
}
