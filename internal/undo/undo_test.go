package undo_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/undo"
)

func TestCloseRemovesTheLatestFirstAndOnce(t *testing.T) {
	var s undo.Stack
	var got []string
	for _, what := range []string{"bridge", "veth", "rules"} {
		s.Push(what, func(context.Context) error {
			got = append(got, what)
			return nil
		})
	}
	for range 2 {
		iferr.Fatal(t, s.Close(t.Context()))
	}
	if want := []string{"rules", "veth", "bridge"}; !slices.Equal(got, want) {
		t.Errorf("removed %v, want %v", got, want)
	}
}

func TestCloseGoesOnAfterAFailureAndJoinsAll(t *testing.T) {
	busy, gone := errors.New("device busy"), errors.New("no such rule")
	var s undo.Stack
	removed := false
	s.Push("bridge br0", func(context.Context) error { return busy })
	s.Push("route", func(context.Context) error { removed = true; return nil })
	s.Push("rules", func(context.Context) error { return gone })
	err := s.Close(t.Context())
	if !errors.Is(err, busy) || !errors.Is(err, gone) {
		t.Errorf("error %v does not join both failures", err)
	}
	if want := "remove rules: no such rule\nremove bridge br0: device busy"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
	if !removed {
		t.Error("what stood between the failures was not removed")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestStackCanBeUsedAgain(t *testing.T) {
	var s undo.Stack
	n := 0
	for range 2 {
		s.Push("thing", func(context.Context) error { n++; return nil })
		iferr.Fatal(t, s.Close(t.Context()))
	}
	if n != 2 {
		t.Errorf("%d removals, want 2", n)
	}
}

func TestRemovalMayPushAnother(t *testing.T) {
	var s undo.Stack
	late := false
	s.Push("daemon", func(context.Context) error {
		s.Push("its files", func(context.Context) error { late = true; return nil })
		return nil
	})
	iferr.Fatal(t, errors.Join(s.Close(t.Context()), s.Close(t.Context())))
	if !late {
		t.Error("what was pushed during Close is still there after the next")
	}
}

func TestAbandonWorksWhenTheContextIsOver(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause, busy := errors.New("out of addresses"), errors.New("device busy")
	cancel(cause)
	var s undo.Stack
	s.Push("bridge", func(ctx context.Context) error { return errors.Join(ctx.Err(), busy) })
	err := s.Abandon(ctx, cause)
	if !errors.Is(err, cause) || !errors.Is(err, busy) {
		t.Errorf("error %v does not hold both the cause and what was left", err)
	}
	if errors.Is(err, context.Canceled) {
		t.Errorf("the removal was given a context that is over: %v", err)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "out of addresses\n") {
		t.Errorf("error %q does not begin with the cause", err)
	}
}

func TestCloseInParallelRemovesOnce(t *testing.T) {
	var s undo.Stack
	var n atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s.Push("thing", func(context.Context) error { n.Add(1); return nil })
				s.Close(t.Context())
			}
		})
	}
	all.Wait()
	if n.Load() != 800 {
		t.Errorf("%d removals of 800 things", n.Load())
	}
}
