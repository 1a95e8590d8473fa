package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/internal/testutil/iferr"
)

// FuzzUsage gives arbitrary input to the parser of control groups: a CPU time that it returns is not
// negative, and parses to the same value when it is written in the kernel's format.
func FuzzUsage(f *testing.F) {
	for _, text := range []string{"usage_usec 2750123\nuser_usec 1\n", "usage_usec\n", "usage_usec -1", "1500000250\n", " 7 \n\n"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, two bool) {
		field, line := "", "%d\n"
		if two {
			field, line = "usage_usec", "usage_usec %d\nuser_usec 0\n"
		}
		n, err := usage(text, field)
		if err != nil {
			return
		}
		if again, err := usage(fmt.Sprintf(line, n), field); n < 0 || err != nil || again != n {
			t.Errorf("%q is %d, read again %d, %v", text, n, again, err)
		}
	})
}

// FuzzCounters gives arbitrary input to every parser: it must not panic, return a counter that the
// text does not contain, or read only part of a device or CPU.
func FuzzCounters(f *testing.F) {
	parsers := []func(string, map[string]uint64) error{pairs, single, interfaces, softnet}
	for i, name := range []string{"snmp", "snmp6", "dev", "softnet_stat"} {
		b, err := os.ReadFile(filepath.Join("testdata/proc/self/net", name))
		iferr.Fatal(f, err)
		f.Add(i, string(b))
	}
	f.Add(0, "Tcp: A\nTcp: -9223372036854775809\n")
	f.Add(2, "\n\n : 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n")
	f.Fuzz(func(t *testing.T, which int, text string) {
		if which < 0 || which >= len(parsers) {
			return
		}
		into := map[string]uint64{}
		if err := parsers[which](text, into); err != nil {
			return
		}
		switch which {
		case 0:
			if words := len(strings.Fields(text)); 2*len(into) > words {
				t.Errorf("%d counters of %d words", len(into), words)
			}
		case 1:
			again, rewritten := map[string]uint64{}, ""
			for name, v := range into {
				rewritten += fmt.Sprintln(name, v)
			}
			if err := single(rewritten, again); err != nil || !cmp.Equal(into, again) {
				t.Errorf("rewritten as %q: %v, %v, first %v", rewritten, err, again, into)
			}
		case 2:
			if len(into)%len(deviceColumns) != 0 {
				t.Errorf("%d counters of devices that have %d each", len(into), len(deviceColumns))
			}
		case 3:
			if len(into) != 0 && len(into) != 3 {
				t.Errorf("%d counters of softnet, want 3", len(into))
			}
		}
	})
}

// FuzzTimerList gives arbitrary input to the parser of idle times: an idle time that it returns is a
// number and not negative.
func FuzzTimerList(f *testing.F) {
	f.Add(timerList(tick(0, 9e9, 8e9, 1e9, 5e8), tick(1, 7e9, 6e9, 2e9, 0)))
	f.Add("now at 5 nsecs\ncpu: 0\n .tick_stopped : 1\n .idle_entrytime : 1\n .idle_exittime : 0\n .idle_sleeptime : 9223372036854775807\n .iowait_sleeptime : 9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		now, idle, err := parseTimerList([]byte(text))
		if err != nil {
			return
		}
		for cpu, seconds := range idle {
			if now <= 0 || cpu < 0 || !(seconds >= 0 && seconds < 1e11) {
				t.Errorf("CPU %d was idle for %v s at %d", cpu, seconds, now)
			}
		}
	})
}
