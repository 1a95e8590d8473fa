package turn

import (
	"testing"
)

func TestTurn(t *testing.T) {
	for text, want := range map[string][2]int{"": {0, 1}, "1/4": {0, 4}, "4/4": {3, 4}} {
		if k, n, err := readTurn(text); err != nil || k != want[0] || n != want[1] {
			t.Errorf("%q: %d of %d, %v", text, k, n, err)
		}
	}
	for _, text := range []string{"0/4", "5/4", "2", "x/y"} {
		if _, _, err := readTurn(text); err == nil {
			t.Errorf("%q is taken for a turn", text)
		}
	}
}

func TestTouched(t *testing.T) {
	for folders, want := range map[string]bool{
		"":                            false,
		"record,network/docker":       true,
		"docker":                      true,
		"record":                      false,
		"ique/docker":                 false,
		"network/docker/x":            false,
		"network/dockers,network/doc": false,
	} {
		if got := touched("/src/nettoll/network/docker", folders); got != want {
			t.Errorf("with %q touched: %v", folders, got)
		}
	}
}

func TestBelow(t *testing.T) {
	for folder, want := range map[string]bool{"workload": true, "workload/wrk": true, "internal/program": true, "internal": true, "work": false, "agent": false} {
		if got := below(folder, "cmd/nettoll,workload/wrk,internal/program"); got != want {
			t.Errorf("%s: %v", folder, got)
		}
	}
}
