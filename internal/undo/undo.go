// Package undo collects the steps that remove what was created, and runs all of them once, in reverse
// order, even if some of them fail.
package undo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Stack is a stack of removals. The zero value is ready to use.
type Stack struct {
	mu    sync.Mutex
	steps []step
}

type step struct {
	what string
	do   func(context.Context) error
}

// Push adds the removal of what. Call it before the next thing is created.
func (s *Stack) Push(what string, do func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step{what, do})
}

// Close runs the removals that have not run yet, the latest first, each even if others fail, and
// joins their errors.
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
const abandonTime = 2 * time.Minute

// Abandon runs the removals after a failed construction and returns cause, joined with the errors of
// removals. It works even if the context of the construction is over.
func (s *Stack) Abandon(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	return errors.Join(cause, s.Close(ctx))
}
