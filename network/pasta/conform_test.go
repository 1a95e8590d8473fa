package pasta_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/network/networktest"
	"nettoll/network/pasta"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConform(t *testing.T) { networktest.Conform(t, pasta.New(nil)) }

// TestProgramThatEnds checks that the network notices, and can still be taken down.
func TestProgramThatEnds(t *testing.T) {
	n := networktest.Build(t, pasta.New(nil), networktest.Pair)
	iferr.Error(t, n.Broken(t.Context()))
	if len(n.Daemons) != 1 {
		t.Fatalf("%d processes carry payload, want one for the server", len(n.Daemons))
	}
	iferr.Fatal(t, unix.Kill(n.Daemons[0].PID, unix.SIGKILL))
	err := n.Broken(t.Context())
	for over := time.Now().Add(time.Minute); err == nil && time.Now().Before(over); err = n.Broken(t.Context()) {
		time.Sleep(time.Millisecond) // the end is noticed by another goroutine
	}
	if err == nil || !strings.HasPrefix(err.Error(), "pasta of h1c1 on h1 ended (signal: killed)") {
		t.Error(err)
	}
}
