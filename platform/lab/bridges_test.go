package lab

import (
	"os"
	"path/filepath"
	"testing"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
)

// TestBridgesOfTheMachine checks that parameters which appear while a lab stands are turned off, and others are not.
func TestBridgesOfTheMachine(t *testing.T) {
	files := []string{"net/bridge/bridge-nf-call-arptables", netns.BridgeNetfilter[1], netns.BridgeNetfilter[0]} // the one that is waited for is the last
	appear := func(dir string) {
		for _, file := range files {
			iferr.Fatal(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		}
		for _, file := range files {
			iferr.Fatal(t, os.WriteFile(filepath.Join(dir, file), []byte("1"), 0o644))
		}
	}
	check := func(when, dir, want string) {
		t.Helper()
		for _, file := range files {
			if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != want {
				t.Errorf("%s: %s is %q, %v", when, file, b, err)
			}
		}
	}
	before, after := t.TempDir(), t.TempDir()
	ended := make(chan struct{})
	appear(before)
	keepBridges(before)(ended) // returns at once
	check("there before", before, "1")
	wait := keepBridges(after)
	appear(after)
	close(ended)
	wait(ended)
	check("appeared meanwhile", after, "0")
}
