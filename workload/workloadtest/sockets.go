package workloadtest

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/workload"
)

// pause is the time between two looks at sockets. The kernel searches the table of all connections for them, which takes
// 10 ms.
const pause = 100 * time.Millisecond

// confined watches the sockets in the containers of the servers until the trial is over. All
// sockets that wait for peers must do so where the clients come, and nowhere else: on a user's
// machine, a socket that listens on all addresses could be reached by everyone on its network.
func (n *standing) confined(t *testing.T, job workload.Job) (over func()) {
	t.Helper()
	allowed := map[string][]string{} // by namespace, in the kernel's format
	for _, p := range job.Pairs {
		ns := p.Server.(*manned).Endpoint.Facts().NetNS
		allowed[ns] = append(allowed[ns], printed(p.Listen.As16()), printed(netip.AddrFrom16(p.Listen.As16()).As16()))
		if p.Listen.Is4() {
			four := p.Listen.As4()
			allowed[ns] = append(allowed[ns], fmt.Sprintf("%08X", binary.NativeEndian.Uint32(four[:])))
		}
	}
	done := make(chan struct{})
	strays := make(chan map[string]bool, len(allowed))
	for ns, at := range allowed {
		go func() {
			found := map[string]bool{}
			err := netns.Do(ns, func() error {
				for {
					if err := stray(at, found); err != nil {
						return err
					}
					select {
					case <-done:
						return nil
					case <-time.After(pause):
					}
				}
			})
			iferr.Error(t, err)
			strays <- found
		}()
	}
	return func() {
		t.Helper()
		close(done)
		for range allowed {
			for socket := range <-strays {
				t.Errorf("there was a socket of %s, and clients come to %v", socket, job.Pairs[0].Listen)
			}
		}
	}
}

// stray finds the sockets of the calling thread's network namespace that wait elsewhere.
func stray(allowed []string, found map[string]bool) error {
	const listening, unconnected = "0A", "07"
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + table)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != listening && f[3] != unconnected {
				continue
			}
			if at, _, _ := strings.Cut(f[1], ":"); !slices.Contains(allowed, at) {
				found[table+" "+f[1]] = true
			}
		}
	}
	return nil
}

// printed formats an IPv6 address as in /proc: four numbers in memory order.
func printed(a [16]byte) (s string) {
	for word := range slices.Chunk(a[:], 4) {
		s += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(word))
	}
	return s
}
