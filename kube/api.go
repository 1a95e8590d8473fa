package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/daemon"
)

// API is an API server, with the credentials of one of its users.
type API struct {
	URL string

	requests *http.Client
	streams  *http.Client // for WebSockets, over HTTP/1.1
}

// bearer sends a token with every request.
type bearer struct {
	*http.Transport
	token string
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

// answerTime bounds one request. Programs that provide credentials, such as those of clouds, run within it.
const answerTime = 20 * time.Second

// leastPause is how long a request waits that an API server with too much to do has turned away, until it is sent again.
const leastPause = 500 * time.Millisecond

// Ask sends one request to the API server, and reads the answer into answer, unless that is nil. If the connection ends
// before the answer does, as when a proxy on the way restarts, what can be asked twice is. An object that was to be removed may be
// absent then.
func (a *API) Ask(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %v", answerTime))
	defer cancel()
	header := http.Header{}
	var text []byte
	if body != nil { // some proxies refuse requests to get something that have a body
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
		header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPatch {
		header.Set("Content-Type", "application/merge-patch+json")
	}
	ask := func() ([]byte, error) {
		return daemon.AskBy(ctx, a.requests, method, a.URL+path, header, text, http.StatusCreated, http.StatusAccepted)
	}
	said, err := ask()
	if cut := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); cut && (method == http.MethodGet || method == http.MethodDelete) {
		said, err = ask()
	}
	for err != nil {
		busy, ok := errors.AsType[*daemon.Refusal](err)
		if !ok || busy.Code != http.StatusTooManyRequests || await.Sleep(ctx, max(busy.After, leastPause)) != nil {
			break
		}
		said, err = ask() // it was not done
	}
	if err == nil && answer != nil {
		return json.Unmarshal(said, answer)
	}
	var status Status
	if err != nil && json.Unmarshal(said, &status) == nil && status.Message != "" {
		err = &status // instead of the text of the whole answer
	}
	cause := context.Cause(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return err
	}
	var request *url.Error
	if !errors.As(err, &request) {
		return overdue{cause}
	}
	request.Err = overdue{cause} // HTTP/2 does not say which bound it was
	return err
}

// overdue is the error of a request that was not answered in time: the bound that was exceeded.
type overdue struct{ error }

// Is has it recognized as that of a deadline.
func (overdue) Is(target error) bool { return target == context.DeadlineExceeded }

// Idle closes connections that are not in use.
func (a *API) Idle() { a.requests.CloseIdleConnections() }

// Status is the API server's refusal of a request.
type Status struct {
	Kind    string // "Status", unless somebody else has answered, such as a proxy
	Message string
	Reason  string // such as NotFound
	Code    int    // of HTTP
}

func (s *Status) Error() string { return s.Message }

// Absent reports whether an error says that there is no such object.
func Absent(err error) bool {
	var s *Status
	return errors.As(err, &s) && s.Reason == "NotFound"
}
