package networktest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/network"
	"nettoll/platform"
	"nettoll/record"
)

// bare are the addresses of containers, as a capture filter.
var bare = map[network.Family]string{
	network.IPv4: "net 198.19.0.0/16",
	network.IPv6: "net 2001:2::/56",
}

// check wants the payload of the pair's transactions to look on the wire as the network
// claims, and nothing else of it to be there. Only what hosts send is captured: what they
// receive, the kernel shows again once it is decrypted.
func (w *watched) check(trials []record.Trial) {
	w.t.Helper()
	needed := map[string]uint64{} // transactions, by filter: some are the same for both families
	for _, trial := range trials {
		filter := w.filters[network.Family(trial.Cell.Family)]
		if trial.Cell.Clients > 1 || filter == "" {
			continue
		}
		for _, f := range trial.Flows {
			needed[filter] += f.Transactions
		}
	}
	for _, host := range w.hosts {
		for filter, transactions := range needed {
			// A pair that had no CPU ends none in its window, and has sent something all the same.
			if got := w.count(host, filter); uint64(got) < max(1, transactions) {
				w.t.Errorf("%d packets that %s sent match %q, for %d transactions", got, host, filter, transactions)
			}
		}
		for f, filter := range w.filters {
			if got := w.count(host, bare[f]+" and not ("+filter+")"); got > 0 {
				w.t.Errorf("IPv%d: %d packets of containers left %s as they are, and do not match %q", f, got, host, filter)
			}
		}
	}
}

func (w *watched) file(host string) string { return filepath.Join(w.dir, host) }

// count is how many packets that a host sent match a filter.
func (w *watched) count(host, filter string) int {
	w.t.Helper()
	// Its optimizer (libpcap 1.10) takes "net A and not net A" for more than nothing.
	out, err := exec.CommandContext(w.t.Context(), "tcpdump", "-nn", "-O", "-r", w.file(host), filter).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		w.t.Fatalf("tcpdump %q: %v: %s", filter, err, exit.Stderr)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Count(string(out), "\n")
}

// tap is captures on the hosts of a network, which end before it goes.
type tap struct{ procs []platform.Process }

// capture keeps what a host sends to the underlay.
func (t *tap) capture(ctx context.Context, h platform.Host, file string) error {
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
	t.procs = append(t.procs, proc)
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

// end ends the captures.
func (t *tap) end() {
	time.Sleep(50 * time.Millisecond) // what is in the buffer
	for _, p := range t.procs {
		if err := unix.Kill(p.PID(), syscall.SIGINT); err == nil {
			_ = p.Wait()
		}
	}
	t.procs = nil
}
