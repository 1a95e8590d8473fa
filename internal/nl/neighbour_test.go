package nl_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
)

// TestFullTables checks that every namespace tells what the machine counts, which /proc shows only outside of them.
func TestFullTables(t *testing.T) {
	var full map[string]uint64
	iferr.Fatal(t, netns.Do(namespaces(t, 1)[0], func() (err error) {
		full, err = nl.FullTables()
		return err
	}))
	if _, known := full["arp_cache"]; !known {
		t.Fatalf("tables of neighbours: %v", full)
	}
	text, err := os.ReadFile("/proc/1/net/stat/arp_cache")
	if err != nil {
		t.Skip("the machine's own count cannot be read: ", err)
	}
	var sum uint64
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		columns := strings.Fields(line)
		if last := columns[len(columns)-1]; i > 0 {
			n, err := strconv.ParseUint(last, 16, 32)
			iferr.Fatal(t, err)
			sum += n
		} else if last != "table_fulls" {
			t.Skipf("the last column is %s", last)
		}
	}
	if full["arp_cache"] > sum { // it was read first
		t.Errorf("arp_cache was full %d times, and %d times later", full["arp_cache"], sum)
	}
}
