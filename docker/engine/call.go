package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"nettoll/internal/oneline"
)

// asking returns a context for a request to an engine that no caller's context bounds.
func asking() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), killTime)
}

// How long an engine may take to answer such a request if it is made for each of many processes, and
// how long if it did not answer the last one and may hang.
const (
	answerTime = 5 * time.Second
	hangTime   = time.Second
)

func (e *Engine) asking() (context.Context, context.CancelFunc) {
	limit := answerTime
	if e.silent.Load() {
		limit = hangTime
	}
	return context.WithTimeout(context.Background(), limit)
}

// heard records whether the engine answered.
func (e *Engine) heard(err error) { e.silent.Store(errors.Is(err, context.DeadlineExceeded)) }

// pause is the time between two questions to an engine about the same thing.
const pause = 10 * time.Millisecond

// failed returns an error that says what an engine did not do, and why.
func failed(err error, format string, args ...any) error {
	return fmt.Errorf("docker: %s: %w", fmt.Sprintf(format, args...), brief(err))
}

// gone reports whether the error means that the engine has no such object.
func gone(err error) bool { return err != nil && cerrdefs.IsNotFound(err) }

// brief reduces an engine's error to one line, without parts that are meaningless to a reader.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	if request, ok := errors.AsType[*url.Error](err); ok { // it contains the request's path
		text = strings.ReplaceAll(text, request.Error(), request.Err.Error())
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "the engine did not answer in time"
	case brokenOff(err):
		text = "the engine broke off the connection"
	}
	return &daemonError{text: oneline.Words(text), err: err}
}

// brokenOff reports whether the engine ended the connection before it had answered.
func brokenOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// daemonError is an error of an engine.
type daemonError struct {
	text string
	err  error
}

func (e *daemonError) Error() string { return e.text }
func (e *daemonError) Unwrap() error { return e.err }
