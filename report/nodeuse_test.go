package report

import (
	"bytes"
	"strings"
	"testing"

	"nettoll/analysis"
	"nettoll/internal/testutil/iferr"
)

func TestNodeDaemonsAreShown(t *testing.T) {
	res, options := specimenResult()
	for _, f := range []string{"text", "md", "html"} {
		format, ok := ByName(f)
		if !ok {
			t.Fatal(f)
		}
		written := func() string {
			var b bytes.Buffer
			iferr.Fatal(t, format.Write(&b, res, options))
			return b.String()
		}
		const title = "What the daemons of the nodes use"
		res.NodeUses = nil
		if strings.Contains(written(), title) {
			t.Errorf("%s: daemons of nodes are shown that nobody saw", f)
		}
		res.NodeUses = []analysis.NodeUse{{
			Cell: res.Scenarios[0].Rows[0].Cell, Trials: 7, Daemons: []analysis.DaemonUse{
				{Name: "kubelet", Use: analysis.Spread{Median: 0.125, Max: 0.25}}, {Name: "kube-proxy"},
			},
		}}
		for _, want := range []string{title, "how much is not known", "kubelet, % of a CPU", "kube-proxy, % of a CPU", "12.5", "up to 25"} {
			if !strings.Contains(written(), want) {
				t.Errorf("%s: it does not say %q", f, want)
			}
		}
	}
}
