package daemon_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/undo"
)

func TestUntilEndsWithADaemon(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	var stack undo.Stack
	defer stack.Close(context.Background())
	d, err := daemon.Start(t.Context(), &stack, host(t), shell("read line; exit 3", nil))
	iferr.Fatal(t, err)
	if _, err := d.Stdin().Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	err = daemon.Until(t.Context(), time.Minute, never, d)
	if err == nil || !strings.HasPrefix(err.Error(), "prog on h1 ended (exit status 3)") {
		t.Error(err)
	}
}
