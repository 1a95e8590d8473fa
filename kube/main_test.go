package kube_test

import (
	"fmt"
	"os"
	"testing"

	"nettoll/internal/testutil"
)

func TestMain(m *testing.M) {
	if told := os.Getenv(victimEnv); told != "" {
		fmt.Fprintln(os.Stderr, "victim:", beVictim(told))
		os.Exit(1)
	}
	testutil.Main(m)
}
