package nl_test

import (
	"net/netip"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/nl/nltest"
	"nettoll/internal/testutil"
)

func TestMain(m *testing.M) { testutil.Main(m) }

// namespaces makes empty namespaces and returns their paths.
func namespaces(t *testing.T, n int) (paths []string) {
	t.Helper()
	all, err := netns.New(t.Context(), n, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range all {
		paths = append(paths, ns.Path())
		t.Cleanup(func() { ns.Close() })
	}
	return paths
}

// in configures a namespace.
func in(t *testing.T, path string, fn func(*nl.NS) error) {
	t.Helper()
	if err := nl.With(path, fn); err != nil {
		t.Fatal(err)
	}
}

func inventory(t *testing.T, path string) string {
	t.Helper()
	s, err := nltest.Inventory(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }
