package nft_test

import (
	"net/netip"
	"strings"
	"testing"

	"nettoll/internal/nl/nft"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
)

func TestRemoveLeavesNothing(t *testing.T) {
	ns := route(t).router
	before, err := nltest.Inventory(ns)
	iferr.Fatal(t, err)
	descriptors := machine.Descriptors(t, "net:")
	fw := everything(t, ns)
	commit(t, fw)
	if got, err := nltest.Inventory(ns); err != nil || !strings.Contains(got, "table tested\n") {
		t.Errorf("the table is not there: %v\n%s", err, got)
	}
	iferr.Fatal(t, fw.Remove())
	if got, err := nltest.Inventory(ns); err != nil || got != before {
		t.Errorf("left: %v\n%swant\n%s", err, got, before)
	}
	if err := fw.Close(); err != nil {
		t.Errorf("close after remove: %v", err)
	}
	if got := machine.Descriptors(t, "net:"); got != descriptors {
		t.Errorf("%d namespaces are open, %d before", got, descriptors)
	}
}

func TestCloseLetsTheNamespaceGoButNotTheRules(t *testing.T) {
	ns := route(t).router
	descriptors := machine.Descriptors(t, "net:")
	fw := everything(t, ns)
	commit(t, fw)
	for range 2 {
		iferr.Error(t, fw.Close())
	}
	if got := machine.Descriptors(t, "net:"); got != descriptors {
		t.Errorf("%d namespaces are open, %d before", got, descriptors)
	}
	if got, err := nltest.Inventory(ns); err != nil || !strings.Contains(got, "table tested\n") {
		t.Errorf("the table is gone: %v\n%s", err, got)
	}
}

func TestErrorsOfFirewalls(t *testing.T) {
	if _, err := nft.New("/no/such/namespace", "tested"); err == nil || !strings.HasPrefix(err.Error(), "nft: open network namespace") {
		t.Errorf("no namespace: %v", err)
	}
	fw := firewall(t, route(t).router)
	rule := fw.BaseChain("forward", nft.Forward, false).Rule(nft.Accept())
	if _, _, err := rule.Count(); err == nil || !strings.Contains(err.Error(), "counter rule1") {
		t.Errorf("count of a rule that is not in force: %v", err)
	}
	fw.BaseChain("output", nft.OutputNAT, false).Rule(nft.SNAT(netip.MustParseAddr("198.19.0.1"))) // not possible at that hook
	if err := fw.Commit(); err == nil || !strings.HasPrefix(err.Error(), "nft: commit table tested: ") {
		t.Errorf("impossible rule: %v", err)
	}
}

// TestRemoveWhatAFailedCommitLeft has the kernel refuse a rule that is sent with all others, and one that is sent after thousands
// of others.
func TestRemoveWhatAFailedCommitLeft(t *testing.T) {
	for _, earlier := range []int{1, 5000} {
		ns := route(t).router
		before, err := nltest.Inventory(ns)
		iferr.Fatal(t, err)
		fw := firewall(t, ns)
		forward := fw.BaseChain("forward", nft.Forward, false)
		for range earlier {
			forward.Filler(nft.Accept())
		}
		fw.BaseChain("output", nft.OutputNAT, false).Rule(nft.SNAT(netip.MustParseAddr("198.19.0.1"))) // not possible at that hook
		if err := fw.Commit(); err == nil {
			t.Errorf("after %d rules, one that is impossible was accepted", earlier)
		}
		iferr.Error(t, fw.Remove())
		if got, err := nltest.Inventory(ns); err != nil || got != before {
			t.Errorf("left of %d rules: %v\n%swant\n%s", earlier, err, got, before)
		}
	}
}
