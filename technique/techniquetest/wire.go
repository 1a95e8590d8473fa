package techniquetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/platform"
	"nettoll/platform/platformtest"
	"nettoll/record"
	"nettoll/technique"
)

// wire captures the underlay while a network is at work, and wants its payload to look
// there as the network claims, and nowhere else.
func wire(t *testing.T, s *subject, hosts int) {
	_, err := exec.LookPath("tcpdump")
	platformtest.Require(t, "tcpdump", err)
	for _, family := range s.families() {
		tapped := &tapped{Technique: s.Technique, dir: t.TempDir(), family: family}
		cell := record.Cell{
			Network: s.network(), Hosts: hosts, Family: int(family), Servers: 1, Clients: 1,
			Tool: "engine", Workload: record.TCPRR, Placement: record.PlacementFree,
		}
		trials := Measure(t, s.platform, tapped, []record.Cell{cell})
		want(t, trials)
		if tapped.filter == "" {
			return // it claims nothing
		}
		var transactions uint64
		for _, trial := range trials {
			for _, f := range trial.Flows {
				transactions += f.Transactions
			}
		}
		if got := tapped.count(t, tapped.filter); uint64(got) < transactions {
			t.Errorf("IPv%d: %d packets on the underlay match %q, for %d transactions", family, got, tapped.filter, transactions)
		}
		const bare = "(net 198.19.0.0/16 or net 2001:2::/56)"
		if got := tapped.count(t, bare+" and not ("+tapped.filter+")"); got > 0 {
			t.Errorf("IPv%d: %d packets of containers are on the underlay as they are, and do not match %q", family, got, tapped.filter)
		}
	}
}

// tapped is a technique whose underlay is captured.
type tapped struct {
	technique.Technique
	dir    string
	family technique.Family
	filter string
}

func (w *tapped) file() string { return filepath.Join(w.dir, "capture") }

// Connect implements technique.Technique.
func (w *tapped) Connect(ctx context.Context, topo technique.Topology, p platform.Platform) (technique.Network, error) {
	n, err := w.Technique.Connect(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	claim, ok := n.(technique.Wired)
	hosts := machines(n)
	if !ok || claim.Wire(w.family) == "" {
		return n, nil
	}
	w.filter = claim.Wire(w.family)
	clients := hosts[1]
	var said bytes.Buffer
	proc, err := clients.Start(ctx, platform.Command{
		Path: "tcpdump", Stderr: &said,
		// Packets as they come, in a large buffer: what is dropped cannot be counted.
		Args: []string{"-i", clients.Uplink().Device, "-w", w.file(), "-s", "128", "-B", "16384", "-U", "-Z", "root", "--immediate-mode"},
	})
	if err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	for deadline := time.Now().Add(5 * time.Second); !exists(w.file()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("tcpdump captures nothing: %s", said.String()), proc.Kill(), n.Close(ctx))
		}
	}
	return &tappedNetwork{Network: n, proc: proc}, nil
}

func exists(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Size > 0
}

// tappedNetwork ends the capture before the network goes.
type tappedNetwork struct {
	technique.Network
	proc platform.Process
}

// Close implements technique.Network.
func (n *tappedNetwork) Close(ctx context.Context) error {
	time.Sleep(50 * time.Millisecond) // what is in the buffer
	if err := unix.Kill(n.proc.PID(), syscall.SIGINT); err == nil {
		_ = n.proc.Wait()
	}
	return n.Network.Close(ctx)
}

// count is how many captured packets match a filter.
func (w *tapped) count(t *testing.T, filter string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "tcpdump", "-nn", "-r", w.file(), filter).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("tcpdump %q: %v: %s", filter, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), "\n")
}
