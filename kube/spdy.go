package kube

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/moby/spdystream"

	"nettoll/internal/emulated"
)

// Proxies that know no WebSockets may let SPDY pass, which kubectl has used for streams before Kubernetes 1.31.

// overSPDY is a carrier. Each stream of the process is one of the connection, which can be closed alone.
type overSPDY struct {
	conn                     io.Closer
	status, in, out, errsOut *spdystream.Stream
}

// overSPDY asks for the streams of a process over SPDY.
func (a *API) overSPDY(ctx context.Context, at string) (_ carrier, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, nil)
	if err != nil {
		return nil, err
	}
	const version = "X-Stream-Protocol-Version"
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, version: {oldProtocol}}
	client := *a.streams
	client.Timeout = 0 // it would bound the whole stream; ctx bounds its beginning
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer resp.Body.Close()
		return nil, refusedStream(resp, fmt.Errorf("the answer is %s", resp.Status))
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	if is := resp.Header.Get(version); is != oldProtocol {
		return nil, fmt.Errorf("the API server speaks %q, not %s", is, oldProtocol)
	}
	session, err := spdystream.NewConnection(upgraded{ReadWriteCloser: conn}, false)
	if err != nil {
		return nil, err
	}
	go session.Serve(spdystream.NoOpStreamHandler)
	s := &overSPDY{conn: conn}
	for _, one := range []struct {
		kind string
		as   **spdystream.Stream
	}{{"error", &s.status}, {"stdin", &s.in}, {"stdout", &s.out}, {"stderr", &s.errsOut}} {
		header := http.Header{}
		header.Set("streamType", one.kind)
		if *one.as, err = session.CreateStream(header, nil, false); err == nil {
			err = (*one.as).WaitTimeout(dialTime)
		}
		if err != nil {
			return nil, fmt.Errorf("open the stream %s: %w", one.kind, err)
		}
	}
	return s, nil
}

func (s *overSPDY) cut() { _ = s.conn.Close() }

func (s *overSPDY) send(part []byte) error {
	defer time.AfterFunc(emulated.Patience(sendTime), s.cut).Stop()
	_, err := s.in.Write(part)
	return err
}

func (s *overSPDY) endInput() error {
	defer time.AfterFunc(emulated.Patience(sendTime), s.cut).Stop()
	return s.in.Close()
}

func (s *overSPDY) read(out, errs io.Writer) error {
	var copied sync.WaitGroup
	for from, to := range map[*spdystream.Stream]io.Writer{s.out: out, s.errsOut: errs} {
		copied.Go(func() {
			_, _ = io.Copy(to, from)
			_, _ = io.Copy(io.Discard, from) // whoever reads it may have gone
		})
	}
	text, err := io.ReadAll(s.status)
	copied.Wait()
	if err != nil || len(text) == 0 {
		return errCut
	}
	return ended(text)
}

// upgraded is a connection that HTTP has left to another protocol.
type upgraded struct {
	io.ReadWriteCloser
	noAddresses
}

// noAddresses has what is not known, and not used, of such a connection.
type noAddresses struct{}

func (noAddresses) LocalAddr() net.Addr              { return nil }
func (noAddresses) RemoteAddr() net.Addr             { return nil }
func (noAddresses) SetDeadline(time.Time) error      { return nil }
func (noAddresses) SetReadDeadline(time.Time) error  { return nil }
func (noAddresses) SetWriteDeadline(time.Time) error { return nil }
