package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/record"
)

// another is an address of this machine that no client of these tests uses.
var another = netip.MustParseAddr("127.0.0.2")

// TestListensWhereClientsCome has every workload's server listen on one address of this machine,
// and a client try the next one.
func TestListensWhereClientsCome(t *testing.T) {
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) {
			h, port := newHandlers(t), machine.FreePort(t)
			openBoth(t, h, w.name, record.Options{}, loopback4, port, 1)
			refuses(t, netip.AddrPortFrom(another, uint16(port)))
			for _, local := range localAddresses(t, port) {
				if local != "0100007F" { // 127.0.0.1, as the kernel writes it
					t.Errorf("there is a socket at %s", local)
				}
			}
		})
	}
}

// TestStreamIsNotInteractive checks that the kernel does not delay the acknowledgements of a stream because its greeting
// was answered, whichever end receives.
func TestStreamIsNotInteractive(t *testing.T) {
	for _, o := range []record.Options{{}, {Reverse: true}} {
		t.Run(fmt.Sprintf("reverse=%v", o.Reverse), func(t *testing.T) {
			half := newHalf(t)
			openBoth(t, half.handlers(), record.TCPStream, o, loopback4, machine.FreePort(t), 2)
			flows, prompt := 0, 0
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				flows, prompt = 0, 0
				for _, s := range half.sessions {
					for _, f := range s.flows {
						if !f.measures() {
							continue
						}
						// It is 0 in what tcp(7) calls an interactive session, or pingpong mode.
						n, err := unix.GetsockoptInt(f.fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK)
						iferr.Fatal(t, err)
						flows, prompt = flows+1, prompt+n
					}
				}
				if flows == 2 && prompt == flows {
					return
				}
			}
			// The server may still be busy after its answer, but not for that long.
			t.Errorf("acknowledgements of %d of %d streams are not delayed", prompt, flows)
		})
	}
}

// refuses checks that nothing listens there, for TCP or UDP.
func refuses(t *testing.T, at netip.AddrPort) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", at.String(), time.Second)
	if err == nil {
		conn.Close()
		t.Errorf("%v takes connections", at)
	}
	if conn, err = net.Dial("udp", at.String()); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err = conn.Write([]byte("who is there?")); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("%v takes datagrams: %v", at, err)
	}
}

// localAddresses returns the local addresses of all sockets with a local port, as /proc lists them.
func localAddresses(t *testing.T, port int) (all []string) {
	t.Helper()
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, err := os.ReadFile("/proc/self/net/" + table)
		iferr.Fatal(t, err)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				all = append(all, strings.TrimSuffix(f[1], fmt.Sprintf(":%04X", port)))
			}
		}
	}
	return all
}

// TestServerOfTwoAddresses has flows come to different addresses of one server, as on a network of
// pairs.
func TestServerOfTwoAddresses(t *testing.T) {
	for _, name := range []string{record.TCPStream, record.TCPCRR, record.UDPRR, record.HTTP} {
		t.Run(name, func(t *testing.T) {
			h, port := newHandlers(t), machine.FreePort(t)
			params := serveParams(name, record.Options{}, loopback4, port, 2)
			params.Listen = append(params.Listen, netip.AddrPortFrom(another, uint16(port)))
			from := connectParams(name, record.Options{}, loopback4, port, 2)
			from.Flows[1].To = netip.AddrPortFrom(another, uint16(port))
			started := startBoth(t, h, func() {
				must[openResult](t, h, methodServe, params)
				must[openResult](t, h, methodConnect, from)
			})
			stopBoth(t, h)
			measured := started["client"].Units
			if name == record.TCPStream {
				measured = started["server"].Units
			}
			if len(measured) != 2 || measured[0]+measured[1] == 0 {
				t.Errorf("the flows carried %v", measured)
			}
		})
	}
}

// TestNoServerOnAllAddresses checks that a specific address is required.
func TestNoServerOnAllAddresses(t *testing.T) {
	for _, at := range [][]netip.AddrPort{nil, {{}}, {netip.MustParseAddrPort("0.0.0.0:20001")}, {netip.MustParseAddrPort("[::]:20001")}} {
		h := newHandlers(t)
		params := serveParams(record.TCPRR, record.Options{}, loopback4, 20001, 1)
		params.Listen = at
		if _, err := ask[openResult](t.Context(), h, methodServe, params); err == nil || !strings.Contains(err.Error(), "address") {
			t.Errorf("asked to listen on %v: %v", at, err)
		}
	}
}
