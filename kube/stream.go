package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"

	"nettoll/internal/nsexec"
)

// protocol is the API server's way to carry the standard streams of a process over a WebSocket: each message
// begins with the number of a stream. Version 5 can close a single stream.
const protocol = "v5.channel.k8s.io"

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
const dialTime = 10 * time.Second

// open asks the API server for the streams of a process.
func (s *Server) open(ctx context.Context, path string, query url.Values) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	config, err := websocket.NewConfig(s.URL+path+"?"+query.Encode(), s.URL)
	if err != nil {
		return nil, err
	}
	at := config.Location.Host
	config.Location.Scheme = "wss"
	config.Protocol = []string{protocol}
	config.Header = http.Header{"Authorization": {"Bearer " + s.tokens[Admin]}}
	pool, err := trust(s.Trust)
	if err != nil {
		return nil, err
	}
	raw, err := s.dial(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	host, _, _ := net.SplitHostPort(at) // the server's own address
	conn := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: host})
	ws, err := websocket.NewClient(config, conn)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return ws, nil
}

// stream is a process in a container, with the connection to its standard streams.
type stream struct {
	ws     *websocket.Conn
	stdout *os.File
	stderr nsexec.Tail
	pid    int
	kill   func() error
	done   chan struct{}
	err    error

	writing sync.Mutex
}

// newStream reads what a process writes. Output goes to out, or, if that is nil, to a pipe of the kernel,
// which holds it while nobody reads.
func newStream(ws *websocket.Conn, in io.Reader, out, errs io.Writer, kill func() error) (*stream, error) {
	s := &stream{ws: ws, kill: kill, done: make(chan struct{})}
	var pipe *os.File
	if out == nil {
		var err error
		if s.stdout, pipe, err = os.Pipe(); err != nil {
			return nil, err
		}
		out = pipe
	}
	if errs == nil {
		errs = &s.stderr
	}
	if in != nil {
		go func() {
			_, _ = io.Copy(input{s}, in) // fails when the process ends
			_ = input{s}.Close()
		}()
	}
	go func() {
		err := s.read(out, errs)
		if pipe != nil {
			pipe.Close()
		}
		ws.Close()
		if last := s.stderr.String(); err != nil && last != "" {
			err = fmt.Errorf("%w: %s", err, strings.ReplaceAll(last, "\n", " | "))
		}
		s.err = err
		close(s.done)
	}()
	return s, nil
}

// errCut is the error of a process whose end is not known.
var errCut = errors.New("the connection to it ended")

// read passes on what the process writes, until it has ended.
func (s *stream) read(out, errs io.Writer) error {
	for {
		var message []byte
		if err := websocket.Message.Receive(s.ws, &message); err != nil {
			return fmt.Errorf("%w: %w", errCut, err)
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
	i.s.writing.Lock()
	defer i.s.writing.Unlock()
	for n < len(b) && err == nil {
		part := b[n:min(n+largest, len(b))]
		if err = websocket.Message.Send(i.s.ws, append([]byte{streamIn}, part...)); err == nil {
			n += len(part)
		}
	}
	return n, err
}

// Close implements io.Closer.
func (i input) Close() error {
	i.s.writing.Lock()
	defer i.s.writing.Unlock()
	return websocket.Message.Send(i.s.ws, []byte{streamClose, streamIn})
}

// PID implements platform.Process.
func (s *stream) PID() int { return s.pid }

// Stdin implements platform.Process.
func (s *stream) Stdin() io.WriteCloser { return input{s} }

// Stdout implements platform.Process.
func (s *stream) Stdout() io.Reader {
	if s.stdout == nil {
		return nil
	}
	return s.stdout
}

// Stderr implements platform.Process.
func (s *stream) Stderr() string { return s.stderr.String() }

// Wait implements platform.Process.
func (s *stream) Wait() error {
	<-s.done
	return s.err
}

// killTime is how long a process may take to end once it is killed.
const killTime = 10 * time.Second

// Kill implements platform.Process. The API has no way to end one process, so all of the container end.
func (s *stream) Kill() error {
	select {
	case <-s.done:
		return nil
	default:
	}
	err := s.kill()
	if s.stdout != nil {
		defer s.stdout.Close()
	}
	select {
	case <-s.done:
	case <-time.After(killTime):
		s.ws.Close()
		if s.stdout != nil {
			s.stdout.Close() // output that nobody reads would block the end for ever
		}
		<-s.done
		err = errors.Join(err, fmt.Errorf("kubernetes: a process did not end within %v of being killed", killTime))
	}
	return err
}
