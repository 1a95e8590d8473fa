// Package undo keeps the removals of what was created, so that they run in
// reverse order, once, and all of them, whatever fails on the way.
package undo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Stack is a stack of removals. The zero value is ready.
type Stack struct {
	mu    sync.Mutex
	steps []step
}

type step struct {
	what string
	do   func(context.Context) error
}

// Push adds the removal of what. Push before the next thing is created.
func (s *Stack) Push(what string, do func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step{what, do})
}

// Close runs the removals that have not run yet, the latest first, each even
// when another fails, and joins their errors.
func (s *Stack) Close(ctx context.Context) error {
	s.mu.Lock()
	steps := s.steps
	s.steps = nil
	s.mu.Unlock()
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		if err := steps[i].do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", steps[i].what, err))
		}
	}
	return errors.Join(errs...)
}

// abandonTime bounds the removals after a failed construction.
const abandonTime = 30 * time.Second

// Abandon runs the removals after a failed construction and returns cause,
// joined with whatever could not be removed. It works even when the context of
// the construction is over.
func (s *Stack) Abandon(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	return errors.Join(cause, s.Close(ctx))
}
