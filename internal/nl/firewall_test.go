package nl_test

import (
	"slices"
	"testing"

	"nettoll/internal/nl"
	"nettoll/internal/nl/nft"
)

func TestTablesThatWereThereStay(t *testing.T) {
	ns := namespaces(t, 1)[0]
	add := func(name string) {
		t.Helper()
		fw, err := nft.New(ns, name)
		if err != nil {
			t.Fatal(err)
		}
		defer fw.Close()
		fw.BaseChain("forward", nft.Forward, false).Rule(nft.In("lo"), nft.Drop())
		if err := fw.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	add("old")
	before, err := nl.FirewallTables(ns)
	if err != nil || len(before) != 1 || before[0].Name != "old" {
		t.Fatalf("%v, %v", before, err)
	}
	add("new")
	if all, err := nl.FirewallTables(ns); err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for range 2 { // the second time must do no harm
		if err := nl.RemoveFirewallTables(ns, before); err != nil {
			t.Fatal(err)
		}
		if all, err := nl.FirewallTables(ns); err != nil || !slices.Equal(all, before) {
			t.Errorf("%v, %v; want %v", all, err, before)
		}
	}
}
