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

// ports are one on which somebody accepts and says nothing, and one on which nobody is.
func ports(t *testing.T) (mute, closed netip.AddrPort) {
	t.Helper()
	loopback(t)
	var l [2]net.Listener
	for i := range l {
		var err error
		if l[i], err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { l[0].Close() })
	l[1].Close()
	return netip.MustParseAddrPort(l[0].Addr().String()), netip.MustParseAddrPort(l[1].Addr().String())
}

func TestKnock(t *testing.T) {
	mute, closed := ports(t)
	for at, want := range map[netip.AddrPort]bool{
		mute:                                    true,
		closed:                                  true,
		netip.MustParseAddrPort("198.18.9.9:1"): false, // no route leads there
	} {
		k, err := knock(t.Context(), knocking{To: at, Within: 300 * time.Millisecond})
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
	mute, closed := ports(t)
	for _, to := range []netip.AddrPort{mute, closed} {
		k, err := knock(t.Context(), knocking{To: to, Greeted: true, Within: 300 * time.Millisecond})
		if err != nil || k.Answered || k.Last == "" {
			t.Errorf("%s: %+v, %v; want no answer", to, k, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := greet(ctx, closed)
		ended <- err
	}()
	k, err := knock(t.Context(), knocking{To: closed, Greeted: true, Within: 10 * time.Second})
	if err != nil || !k.Answered {
		t.Errorf("a greeter: %+v, %v", k, err)
	}
	cancel()
	<-ended
	if again, err := net.Listen("tcp4", closed.String()); err != nil {
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
