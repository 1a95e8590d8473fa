package dockerd

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/swarm"

	"nettoll/internal/nl"
)

// loopback sets lo up in the tests' own namespace.
func loopback(t *testing.T) {
	t.Helper()
	if err := nl.With("", func(n *nl.NS) error { return n.Up("lo") }); err != nil {
		t.Fatal(err)
	}
}

func TestKnock(t *testing.T) {
	loopback(t)
	open, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	was, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := was.Addr().String()
	was.Close()
	for at, want := range map[string]bool{
		open.Addr().String(): true,
		closed:               true,
		"198.18.9.9:1":       false, // no route leads there
	} {
		k, err := knock(t.Context(), knocking{To: netip.MustParseAddrPort(at), Within: 300 * time.Millisecond})
		if err != nil || k.Answered != want {
			t.Errorf("%s: %+v, %v; want answered %v", at, k, err, want)
		}
		if !want && !strings.Contains(k.Last, "unreachable") {
			t.Errorf("%s: %q does not say what was seen", at, k.Last)
		}
	}
}

// TestGreeted knocks where somebody accepts and says nothing, where somebody refuses, and
// where a container greets.
func TestGreeted(t *testing.T) {
	loopback(t)
	mute, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	refuses, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := refuses.Addr().(*net.TCPAddr)
	refuses.Close()
	for _, to := range []string{mute.Addr().String(), at.String()} {
		k, err := knock(t.Context(), knocking{To: netip.MustParseAddrPort(to), Greeted: true, Within: 300 * time.Millisecond})
		if err != nil || k.Answered || k.Last == "" {
			t.Errorf("%s: %+v, %v; want no answer", to, k, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := greet(ctx, at.Port)
		ended <- err
	}()
	k, err := knock(t.Context(), knocking{To: at.AddrPort(), Greeted: true, Within: 10 * time.Second})
	if err != nil || !k.Answered {
		t.Errorf("a greeter: %+v, %v", k, err)
	}
	cancel()
	<-ended
	if again, err := net.Listen("tcp4", at.String()); err != nil {
		t.Errorf("the port is not free again: %v", err)
	} else {
		again.Close()
	}
}

func TestDeviceOf(t *testing.T) {
	loopback(t)
	if d, err := deviceOf(netip.MustParseAddr("127.0.0.1")); d != "lo" || err != nil {
		t.Errorf("127.0.0.1 is on %q, %v", d, err)
	}
	if d, err := deviceOf(netip.MustParseAddr("198.18.9.9")); err == nil || !strings.Contains(err.Error(), "198.18.9.9") {
		t.Errorf("198.18.9.9 is on %q, %v; want an error that names it", d, err)
	}
}

func TestActive(t *testing.T) {
	for state, want := range map[swarm.LocalNodeState]string{
		swarm.LocalNodeStateActive:   "",
		swarm.LocalNodeStateInactive: "is not part of a swarm",
		"":                           "is not part of a swarm",
		swarm.LocalNodeStateLocked:   "locked",
		swarm.LocalNodeStatePending:  "its state is pending",
		swarm.LocalNodeStateError:    "certificate expired",
	} {
		i := swarm.Info{LocalNodeState: state}
		if state == swarm.LocalNodeStateError {
			i.Error = "certificate\nexpired"
		}
		err := active(i)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", state, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", state, err, want)
		}
	}
}
