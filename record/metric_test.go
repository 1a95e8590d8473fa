package record_test

import (
	"testing"

	"nettoll/record"
)

// TestJain checks how evenly flows share a network: of streams and transactions only the streams, and those that got nothing as well.
func TestJain(t *testing.T) {
	bytes := func(all ...uint64) (flows []record.Flow) {
		for _, n := range all {
			flows = append(flows, record.Flow{Bytes: n})
		}
		return flows
	}
	transactions := []record.Flow{{Transactions: 6}, {Transactions: 2}}
	for _, c := range []struct {
		name  string
		flows []record.Flow
		want  float64 // 0: none
	}{
		{"alike", bytes(5, 5, 5), 1},
		{"one has everything", bytes(0, 0, 8, 0), 0.25},
		{"transactions", transactions, 0.8},
		{"streams beside transactions", append(bytes(3, 1), transactions...), 0.8},
		{"one stream beside transactions", append(bytes(3), transactions...), 0},
		{"one", bytes(7), 0},
		{"nothing", bytes(0, 0), 0},
	} {
		if got, ok := record.Jain(c.flows); got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
}
