package cgroup_test

import (
	"os"
	"testing"

	"nettoll/internal/testutil/inlab"
)

func TestMain(m *testing.M) {
	if run := os.Getenv(holdEnv); run != "" {
		holdUntilKilled(run)
	}
	inlab.Main(m)
}
