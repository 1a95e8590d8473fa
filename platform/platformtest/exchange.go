package platformtest

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"nettoll/internal/netns"
)

// patience bounds one exchange.
const patience = time.Minute

// Exchange has a client in one namespace send data over TCP to a server in another, which sends it back. It returns
// the number of payload bytes, both ways.
func Exchange(t *testing.T, client, server string, at netip.Addr) (payload uint64) {
	t.Helper()
	said := make([]byte, 100_000)
	rand.Read(said)
	heard, err := echo(client, server, at, said)
	if err != nil {
		t.Errorf("to %s: %v", at, err)
	} else if !bytes.Equal(heard, said) {
		t.Errorf("to %s: said %d bytes and heard %d others", at, len(said), len(heard))
	}
	return 2 * uint64(len(said))
}

func echo(client, server string, at netip.Addr, said []byte) (heard []byte, err error) {
	var l net.Listener
	err = netns.Do(server, func() error {
		l, err = net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		io.Copy(c, c)
	}()
	var c net.Conn
	// With one address to dial, the socket is made on the thread that is in the namespace.
	err = netns.Do(client, func() error {
		c, err = net.DialTimeout("tcp", l.Addr().String(), patience)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	go func() {
		c.Write(said)
		c.(*net.TCPConn).CloseWrite()
	}()
	return io.ReadAll(c)
}
