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
	ws, resp, err := websocket.Dial(ctx, a.URL+pod+"/attach?"+query.Encode(), &websocket.DialOptions{
		HTTPClient: a.streams, Subprotocols: []string{protocol, oldProtocol},
	})
	if err != nil {
		return nil, refusedStream(resp, err)
	}
	ws.SetReadLimit(-1) // a process can write any amount at once
	s, err := newStream(ws)
	if err != nil {
		_ = ws.CloseNow()
	}
	return s, err
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

// stream is a process in a container, with the connection to its standard streams.
type stream struct {
	*nsexec.Life
	ws *websocket.Conn
	// kill ends the process. Nil: it ends when its input does.
	kill func() error
}

// newStream reads what a process writes. Its output goes to a pipe of the kernel, which holds it while nobody reads.
func newStream(ws *websocket.Conn) (*stream, error) {
	out, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &stream{Life: nsexec.NewLife(), ws: ws}
	s.In, s.Out = input{s}, out
	go func() {
		err := s.read(pipe, &s.Errors)
		pipe.Close()
		_ = ws.CloseNow()
		s.End(err)
	}()
	return s, nil
}

// errCut is the error of a process whose end is not known.
var errCut = errors.New("the connection to it ended")

// read passes on what the process writes, until it has ended.
func (s *stream) read(out, errs io.Writer) error {
	for {
		_, message, err := s.ws.Read(context.Background())
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
		if err = i.send(append([]byte{streamIn}, part...)); err == nil {
			n += len(part)
		}
	}
	return n, err
}

// sendTime bounds one message. Where nothing gets through for as long, the process is out of reach.
var sendTime = 30 * time.Second

func (i input) send(message []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), emulated.Patience(sendTime))
	defer cancel()
	return i.s.ws.Write(ctx, websocket.MessageBinary, message)
}

// Close implements io.Closer. Where a single stream cannot be closed, all are, which ends the input, too.
func (i input) Close() error {
	if i.s.ws.Subprotocol() != protocol {
		return i.s.ws.CloseNow()
	}
	return i.send([]byte{streamClose, streamIn})
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
		_ = s.ws.CloseNow() // what the process writes before its end is lost
	} else {
		err = s.kill()
	}
	defer s.Out.Close()
	select {
	case <-s.Over():
	case <-time.After(killTime):
		_ = s.ws.CloseNow()
		s.Out.Close() // output that nobody reads would block the end for ever
		<-s.Over()
		err = errors.Join(err, fmt.Errorf("kubernetes: a process did not end within %v of being killed", killTime))
	}
	return err
}
