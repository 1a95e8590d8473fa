package await_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"nettoll/internal/await"
)

var (
	notYet  = errors.New("not yet")
	never   = errors.New("never")
	stopped = errors.New("stopped")
)

func TestUntilAsksAgain(t *testing.T) {
	for answer, want := range map[error]error{nil: nil, never: never} {
		asked := 0
		err := await.Until(t.Context(), time.Minute, time.Millisecond, func(context.Context) (missing, err error) {
			if asked++; asked < 3 {
				return notYet, nil
			}
			return nil, answer
		})
		if err != want || asked != 3 {
			t.Errorf("%v, asked %d times; want %v, 3 times", err, asked, want)
		}
	}
}

// TestUntilGivesTheLastAnswer checks that what was missing is not lost when the time is over, and that a question that was
// cut short does not count as an answer.
func TestUntilGivesTheLastAnswer(t *testing.T) {
	const short = 100 * time.Millisecond
	for _, c := range []struct {
		caller, within time.Duration
		fails          bool
		want           string
	}{
		{time.Minute, short, false, "not yet"}, {time.Minute, short, true, "not yet"},
		{short, time.Minute, false, "stopped: not yet"}, {short, 0, true, "stopped: not yet"},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), c.caller, stopped)
		defer cancel()
		asked := 0
		err := await.Until(ctx, c.within, time.Millisecond, func(ctx context.Context) (missing, err error) {
			if asked++; asked == 1 {
				return notYet, nil
			}
			<-ctx.Done()
			if c.fails {
				return nil, ctx.Err()
			}
			return ctx.Err(), nil
		})
		if !errors.Is(err, notYet) || err.Error() != c.want || errors.As(err, new(*await.Late)) != (c.within == short) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestUntilEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	err := await.Until(ctx, time.Minute, time.Minute, func(context.Context) (missing, err error) { return notYet, nil })
	if err != stopped {
		t.Error(err)
	}
}
