package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"nettoll/internal/emulated"
	"nettoll/internal/nsexec"
)

// The API server's ways to carry the standard streams of a process over a WebSocket: each message begins with the number
// of a stream. Version 5, since Kubernetes 1.30, can close a single stream.
const (
	protocol    = "v5.channel.k8s.io"
	oldProtocol = "v4.channel.k8s.io"
)

// Streams of the protocol.
const (
	streamIn     = 0
	streamOut    = 1
	streamErr    = 2
	streamStatus = 3   // how the process ended
	streamClose  = 255 // followed by the number of the stream that ends
)

// largest is how much of standard input one message carries, in bytes.
const largest = 32 << 10

// dialTime bounds the beginning of a stream.
const dialTime = 20 * time.Second

// attach asks the API server for the streams of the first process of a container.
func (a *API) attach(ctx context.Context, pod, container string) (*stream, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialTime, fmt.Errorf("no answer within %v", dialTime))
	defer cancel()
	query := url.Values{"container": {container}}
	for _, name := range []string{"stdin", "stdout", "stderr"} {
		query.Set(name, "true")
	}
	by, err := a.carry(ctx, a.URL+pod+"/attach?"+query.Encode())
	if err != nil {
		return nil, err
	}
	s, err := newStream(by)
	if err != nil {
		by.cut()
	}
	return s, err
}

// carry begins a WebSocket, or SPDY where something on the way lets no WebSocket pass, as kubectl does.
func (a *API) carry(ctx context.Context, at string) (carrier, error) {
	ws, resp, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: a.streams, Subprotocols: []string{protocol, oldProtocol}})
	if err == nil {
		ws.SetReadLimit(-1) // a process can write any amount at once
		return overWebSocket{ws}, nil
	}
	if err = refusedStream(resp, err); resp == nil || saysNo(err) {
		return nil, err
	}
	by, second := a.overSPDY(ctx, at)
	switch {
	case second == nil:
		return by, nil
	case saysNo(second):
		return nil, second
	}
	return nil, fmt.Errorf("%w; without WebSockets (SPDY): %w", err, second)
}

// saysNo reports whether an error is the API server's refusal of a request, whatever carries the answer. It calls a request bad
// that has lost its headers on the way.
func saysNo(err error) bool {
	s, ok := errors.AsType[*Status](err)
	return ok && s.Kind == "Status" && s.Code != http.StatusBadRequest
}

// refusedStream returns the API server's reason, if it gave one.
func refusedStream(resp *http.Response, err error) error {
	if resp == nil || resp.Body == nil {
		return err
	}
	said, readErr := io.ReadAll(resp.Body)
	var status Status
	if readErr == nil && json.Unmarshal(said, &status) == nil && status.Message != "" {
		return &status
	}
	if text := strings.TrimSpace(string(said)); text != "" {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}

// carrier is a connection to the standard streams of a process.
type carrier interface {
	// send sends a part of its input. Where nothing gets through for sendTime, it fails.
	send(part []byte) error
	// endInput closes its input. What it still writes may be lost.
	endInput() error
	// read passes on what the process writes, until it has ended, and returns the error of its end.
	read(out, errs io.Writer) error
	// cut ends the connection.
	cut()
}

// stream is a process in a container, with the connection to its standard streams.
type stream struct {
	*nsexec.Life
	by carrier
	// kill ends the process. Nil: it ends when its input does.
	kill func() error
}

// newStream reads what a process writes. Its output goes to a pipe of the kernel, which holds it while nobody reads.
func newStream(by carrier) (*stream, error) {
	out, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &stream{Life: nsexec.NewLife(), by: by}
	s.In, s.Out = input{s}, out
	go func() {
		err := by.read(pipe, &s.Errors)
		pipe.Close()
		by.cut()
		s.End(err)
	}()
	return s, nil
}

// errCut is the error of a process whose end is not known.
var errCut = errors.New("the connection to it ended")

// overWebSocket is a carrier.
type overWebSocket struct{ *websocket.Conn }

func (w overWebSocket) cut() { _ = w.CloseNow() }

func (w overWebSocket) read(out, errs io.Writer) error {
	for {
		_, message, err := w.Read(context.Background())
		if closed, ok := errors.AsType[websocket.CloseError](err); ok && closed.Reason != "" {
			return fmt.Errorf("%w: %s", errCut, closed.Reason)
		}
		if err != nil {
			return errCut // the library's text says no more
		}
		if len(message) == 0 {
			continue
		}
		switch text := message[1:]; message[0] {
		case streamOut:
			_, _ = out.Write(text) // whoever reads it may have gone
		case streamErr:
			_, _ = errs.Write(text)
		case streamStatus:
			return ended(text)
		}
	}
}

// ended returns the error of a process that ended with a status.
func ended(text []byte) error {
	var status struct {
		Status, Message string
		Details         struct {
			Causes []struct{ Reason, Message string }
		}
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("the API server says %q: %w", bytes.TrimSpace(text), err)
	}
	if status.Status == "Success" {
		return nil
	}
	for _, c := range status.Details.Causes {
		if c.Reason == "ExitCode" {
			return errors.New("exit status " + c.Message)
		}
	}
	return errors.New(status.Message)
}

// input is the standard input of a process.
type input struct{ s *stream }

// Write implements io.Writer.
func (i input) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		part := b[n:min(n+largest, len(b))]
		if err = i.s.by.send(part); err == nil {
			n += len(part)
		}
	}
	return n, err
}

// sendTime bounds one message. Where nothing gets through for as long, the process is out of reach.
var sendTime = 30 * time.Second

// Close implements io.Closer.
func (i input) Close() error { return i.s.by.endInput() }

func (w overWebSocket) send(part []byte) error {
	return w.message(append([]byte{streamIn}, part...))
}

func (w overWebSocket) message(all []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), emulated.Patience(sendTime))
	defer cancel()
	return w.Write(ctx, websocket.MessageBinary, all)
}

// Where a single stream cannot be closed, all are, which ends the input, too.
func (w overWebSocket) endInput() error {
	if w.Subprotocol() != protocol {
		return w.CloseNow()
	}
	return w.message([]byte{streamClose, streamIn})
}

// killTime is how long a process may take to end once it is killed.
const killTime = 30 * time.Second

// Kill implements platform.Process. The API cannot end a process, so without a function kill the connection is closed.
func (s *stream) Kill() error {
	if s.Ended() {
		return nil
	}
	var err error
	if s.kill == nil {
		s.by.cut() // what the process writes before its end is lost
	} else {
		err = s.kill()
	}
	defer s.Out.Close()
	select {
	case <-s.Over():
	case <-time.After(killTime):
		s.by.cut()
		s.Out.Close() // output that nobody reads would block the end for ever
		<-s.Over()
		err = errors.Join(err, fmt.Errorf("kubernetes: a process did not end within %v of being killed", killTime))
	}
	return err
}
