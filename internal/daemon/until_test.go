package daemon_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nettoll/internal/daemon"
	"nettoll/internal/undo"
)

func TestUntilAsksAgain(t *testing.T) {
	asked := 0
	err := daemon.Until(t.Context(), time.Minute, func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// TestUntilGivesTheLastAnswer checks that a timeout does not count as an answer.
func TestUntilGivesTheLastAnswer(t *testing.T) {
	refused := errors.New("refused")
	asked := 0
	err := daemon.Until(t.Context(), 100*time.Millisecond, func(ctx context.Context) error {
		if asked++; asked == 1 {
			return refused
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, refused) {
		t.Error(err)
	}
}

func TestUntilEndsWithADaemonAndWithItsCaller(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	var stack undo.Stack
	defer stack.Close(context.Background())
	d, err := daemon.Start(t.Context(), &stack, host(t), shell("read line; exit 3", nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stdin().Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	err = daemon.Until(t.Context(), time.Minute, never, d)
	if err == nil || !strings.HasPrefix(err.Error(), "prog on h1 ended (exit status 3)") {
		t.Error(err)
	}
	gone := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := daemon.Until(ctx, time.Minute, never); !errors.Is(err, gone) {
		t.Error(err)
	}
}
