package techniquetest

import (
	"bytes"
	"context"
	"errors"
	"os"
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

// wire captures what hosts send to the underlay while a network is at work, and wants its
// payload to look there as the network claims, and nothing else of it to be there. What
// they receive is not looked at: the kernel shows it again once it is decrypted.
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
		for _, host := range tapped.hosts {
			if got := tapped.count(t, host, tapped.filter); uint64(got) < transactions {
				t.Errorf("IPv%d: %d packets that %s sent match %q, for %d transactions", family, got, host, tapped.filter, transactions)
			}
			const bare = "(net 198.19.0.0/16 or net 2001:2::/56)"
			if got := tapped.count(t, host, bare+" and not ("+tapped.filter+")"); got > 0 {
				t.Errorf("IPv%d: %d packets of containers left %s as they are, and do not match %q", family, got, host, tapped.filter)
			}
		}
	}
}

// tapped is a technique whose underlay is captured, where the first server and the first
// client are.
type tapped struct {
	technique.Technique
	dir    string
	family technique.Family
	filter string
	hosts  []string
}

func (w *tapped) file(host string) string { return filepath.Join(w.dir, host) }

// Connect implements technique.Technique.
func (w *tapped) Connect(ctx context.Context, topo technique.Topology, p platform.Platform) (technique.Network, error) {
	n, err := w.Technique.Connect(ctx, topo, p)
	if err != nil {
		return nil, err
	}
	claim, ok := n.(technique.Wired)
	if !ok || claim.Wire(w.family) == "" {
		return n, nil
	}
	w.filter, w.hosts = claim.Wire(w.family), nil
	tap := &tappedNetwork{Network: n}
	for _, h := range machines(n)[:2] {
		w.hosts = append(w.hosts, h.Name())
		if err := tap.capture(ctx, h, w.file(h.Name())); err != nil {
			return nil, errors.Join(err, tap.Close(ctx))
		}
	}
	return tap, nil
}

// tappedNetwork ends the captures before the network goes.
type tappedNetwork struct {
	technique.Network
	procs []platform.Process
}

// capture keeps what a host sends to the underlay.
func (n *tappedNetwork) capture(ctx context.Context, h platform.Host, file string) error {
	_ = os.Remove(file) // of an attempt that failed
	var said bytes.Buffer
	proc, err := h.Start(ctx, platform.Command{
		Path: "tcpdump", Stderr: &said,
		// Packets as they come, in a large buffer: what is dropped cannot be counted.
		Args: []string{"-i", h.Uplink().Device, "-Q", "out", "-w", file, "-s", "128", "-B", "16384", "-U", "-Z", "root", "--immediate-mode"},
	})
	if err != nil {
		return err
	}
	n.procs = append(n.procs, proc)
	for deadline := time.Now().Add(5 * time.Second); !exists(file); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("tcpdump captures nothing")
		}
	}
	return nil
}

func exists(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Size > 0
}

// Close implements technique.Network.
func (n *tappedNetwork) Close(ctx context.Context) error {
	time.Sleep(50 * time.Millisecond) // what is in the buffer
	for _, p := range n.procs {
		if err := unix.Kill(p.PID(), syscall.SIGINT); err == nil {
			_ = p.Wait()
		}
	}
	return n.Network.Close(ctx)
}

// count is how many packets that a host sent match a filter.
func (w *tapped) count(t *testing.T, host, filter string) int {
	t.Helper()
	// Its optimizer (libpcap 1.10) takes "net A and not net A" for more than nothing.
	out, err := exec.CommandContext(t.Context(), "tcpdump", "-nn", "-O", "-r", w.file(host), filter).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("tcpdump %q: %v: %s", filter, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), "\n")
}
