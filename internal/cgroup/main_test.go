package cgroup_test

import (
	"os"
	"testing"

	"nettoll/internal/testutil"
)

func TestMain(m *testing.M) {
	if run := os.Getenv(holdEnv); run != "" {
		holdUntilKilled(run)
	}
	testutil.Main(m)
}
