package nsexec_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"nettoll/internal/nsexec"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// here is this machine as an endpoint.
type here struct{}

func (here) Name() string { return "here" }

func (here) OnHost() string        { return "h1" }
func (here) Facts() platform.Facts { return platform.Facts{} }

func (here) Start(ctx context.Context, c platform.Command) (platform.Process, error) {
	return nsexec.Start(ctx, "here", "", os.Environ(), c)
}

func TestRunEndsWithItsCaller(t *testing.T) {
	run := func(ctx context.Context, script string) error {
		return nsexec.Run(ctx, here{}, platform.Command{Path: "sh", Args: []string{"-c", script}})
	}
	iferr.Error(t, run(t.Context(), "exit 0"))
	if err := run(t.Context(), "exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := run(ctx, "exec sleep 60"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestOutputHeldOpen has a program end and leave another one in a separate session, which holds its
// output open.
func TestOutputHeldOpen(t *testing.T) {
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- nsexec.Run(context.Background(), here{}, platform.Command{
			Path: "sh", Args: []string{"-c", "setsid sleep 30 & echo said"}, Stdout: &out,
		})
	}()
	select {
	case err := <-ended:
		if err != nil || out.String() != "said\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	case <-time.After(25 * time.Second): // before the other one ends
		t.Error("it is waited for who holds the output")
	}
}
