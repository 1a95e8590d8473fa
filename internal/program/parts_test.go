package program

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
	"nettoll/sampler"
	"nettoll/workload"
)

func TestOpenPorts(t *testing.T) {
	const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000 100 0 0 10 0
   1: 0100007F:D2F0 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 12346 1 0000000000000000 20 4 30 10 -1
   2: 00000000000000000000000000000000:4E21 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1 1
   3: 02000120000000000000000001000000:4E22 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 3 1
   4: 0000000000000000FFFF00000100007F:4E23 00000000000000000000000000000000:0000 01 00000000:00000000 00:00000000 00000000 0 0 4 1
   5: 100007F:4E23 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4 1
   6: 0100007F:X 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4 1
`
	const udp = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  100: 00000000:4E22 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 12347 2 0000000000000000 0
  101: 0100007F:4E23 0100007F:4E22 01 00000000:00000000 00:00000000 00000000     0        0 12348 2 0000000000000000 0
`
	for table, want := range map[string]string{
		tcp: "[tcp port 8080 of 127.0.0.1 tcp port 20001 of :: tcp port 20002 of 2001:2::1]",
		udp: "[tcp port 20002 of 0.0.0.0]", "": "[]", "a b c 0A": "[]",
	} {
		if got := fmt.Sprint(waiting("tcp", table)); got != want {
			t.Errorf("%.40q: %s, want %s", table, got, want)
		}
	}
}

// TestUsed spins in children of a shell, one after the other.
func TestUsed(t *testing.T) {
	spin := self(t, "spin", "100ms")
	k, err := launch(sh(spin.String() + "; " + spin.String() + "; true"))
	iferr.Fatal(t, err)
	last := 0.0
	for ended := false; !ended; time.Sleep(5 * time.Millisecond) {
		select {
		case <-k.done:
			ended = true
		default:
		}
		u := k.used()
		// A child that has just been reaped counts in ticks from then on.
		if sum := u.user + u.system; sum < last-4.0/sampler.Ticks {
			t.Errorf("%v s of CPU after %v", sum, last)
		} else {
			last = sum
		}
	}
	if u := k.used(); u != k.last || u.user+u.system == 0 {
		t.Errorf("%+v at the end, %+v in its life", u, k.last)
	}
}

// TestUsedOfFamily has a child that spins in a session of its own.
func TestUsedOfFamily(t *testing.T) {
	k, err := launch(sh(self(t, "apart", "10m").String() + "; true"))
	iferr.Fatal(t, err)
	var family []int
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		family = k.family()
		if u := k.used(); len(family) == 2 && u.user+u.system > 0.1 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%v is the family of %d, which used %+v", family, k.cmd.Process.Pid, k.used())
			break
		}
	}
	for _, pid := range family[1:] {
		iferr.Error(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	<-k.done
}

// TestUsedOfOneThatEnds reads CPU time while programs end: that of a program that has ended must
// not count as zero.
func TestUsedOfOneThatEnds(t *testing.T) {
	for range 20 {
		k, err := launch(self(t, "spin", "5ms"))
		iferr.Fatal(t, err)
		last := 0.0
		for ended := false; !ended; {
			select {
			case <-k.done:
				ended = true
			default:
			}
			u := k.used()
			if sum := u.user + u.system; sum < last-2.0/sampler.Ticks || sum == 0 && last > 0 {
				t.Fatalf("%v s of CPU after %v", sum, last)
			} else {
				last = sum
			}
		}
	}
}

// steady is a program that uses one CPU all the time, until it ends.
type steady struct {
	began time.Time
	ended chan struct{}
}

func (s steady) used() usage           { return usage{user: time.Since(s.began).Seconds()} }
func (s steady) moved() error          { return nil }
func (s steady) over() <-chan struct{} { return s.ended }

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		late, ends time.Duration // of the first reading; after the window has opened, 0 is never
		want       float64
	}{
		{0, 0, 1},
		{300 * time.Millisecond, 0, 1},
		{0, 600 * time.Millisecond, 0.6},
		{200 * time.Millisecond, 600 * time.Millisecond, 0.4},
		{800 * time.Millisecond, 0, 0.2},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := steady{time.Now(), make(chan struct{})}
			if c.ends > 0 {
				time.AfterFunc(c.ends-c.late, func() { close(m.ended) })
			}
			w := window{time.Second, time.Second}
			got, _, _ := between(t.Context(), m, time.Now().Add(-w.Lead-c.late), w)
			if math.Abs(got.User-c.want) > 1e-9 || got.System != 0 {
				t.Errorf("read %v late, ended after %v: %+v, want %v", c.late, c.ends, got, c.want)
			}
		})
	}
}

// TestProgramThatIsMoved has the CPUs of a program taken away, as the kernel does if they may not be used any more.
func TestProgramThatIsMoved(t *testing.T) {
	all := unix.NewCPUSet(sampler.MostCPUs)
	iferr.Fatal(t, unix.SchedGetaffinityDynamic(0, all))
	if all.Count() < 2 {
		t.Skip("there is one CPU")
	}
	cpu := 0
	for !all.IsSet(cpu) {
		cpu++
	}
	c := sh("sleep 60; true")
	c.CPUs = []int{cpu}
	k, err := launch(c)
	iferr.Fatal(t, err)
	for _, taken := range []bool{false, true} {
		if taken {
			iferr.Fatal(t, unix.SchedSetaffinityDynamic(k.thread, all))
		}
		_, _, err := between(t.Context(), k, time.Now(), window{})
		if said := err != nil && strings.HasPrefix(err.Error(), "/bin/sh ran on other CPUs than it was given "); said != taken {
			t.Errorf("taken away: %t, and it says %v", taken, err)
		}
	}
	iferr.Fatal(t, k.stop(syscall.SIGKILL))
	iferr.Error(t, k.moved()) // the number of its thread may be that of another
}

func TestWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int{0: 1, time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2, 10 * time.Second: 10} {
		if got := WholeSeconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
	lead, window := Window(workload.Job{Duration: 300 * time.Millisecond})
	if lead != 0 || window != time.Second {
		t.Errorf("%v and %v", lead, window)
	}
	lead, window = Window(workload.Job{Warmup: 200 * time.Millisecond, Duration: 2500 * time.Millisecond})
	if lead != time.Second || window != 3*time.Second {
		t.Errorf("%v and %v", lead, window)
	}
}

func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		set      []int
		n, flows int
		want     []int
	}{
		{nil, 3, 1, nil},
		{[]int{4, 5}, 0, 1, []int{4}},
		{[]int{4, 5}, 3, 1, []int{5}},
		{[]int{4, 5}, 1, 2, []int{4, 5}},
	} {
		if got := CPUs(c.set, c.n, c.flows); !slices.Equal(got, c.want) {
			t.Errorf("client %d with %d flows on %v: %v, want %v", c.n, c.flows, c.set, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	sh, perf := Program{Name: "sh", Package: "dash"}, Program{Name: "nettoll-test-perf", Package: "perf", Else: "/bin/sh"}
	if path, err := (Paths{}).Find(sh); err != nil || !strings.HasSuffix(path, "/sh") {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := (Paths{perf.Name: "/bin/true"}).Find(perf); err != nil || path != "/bin/true" {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := (Paths{}).Find(perf); err != nil || path != "/bin/sh" {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := (Paths{perf.Name: "/nonexistent/perf"}).Find(perf); err == nil {
		t.Errorf("%s instead of the one that was given", path)
	}
	_, err := Paths{"sh": "/nonexistent/sh"}.Find(sh)
	var why *platform.Unsupported
	if !errors.Is(err, platform.ErrUnsupported) || !errors.As(err, &why) || why.Remedy != "apt install dash, or give its path with --tool-path sh=FILE" {
		t.Errorf("%v", err)
	}
	_, err = Paths{"flanneld": "/nowhere/flanneld"}.Locate("flanneld", "make tools")
	if !errors.As(err, &why) || why.Remedy != "make tools, or give its path with --tool-path flanneld=FILE" {
		t.Errorf("%v", err)
	}
}

// TestLocateBeside finds a program next to this one, unless other users could have put it there.
func TestLocateBeside(t *testing.T) {
	self, err := os.Executable()
	iferr.Fatal(t, err)
	dir := filepath.Dir(self)
	const name = "nettoll-test-flanneld"
	beside := filepath.Join(dir, name)
	iferr.Fatal(t, os.WriteFile(beside, []byte("#!/bin/sh\n"), 0o755))
	t.Cleanup(func() { _ = os.Remove(beside) })
	if path, err := (Paths{}).Locate(name, "make tools"); err != nil || path != beside {
		t.Errorf("%s, %v", path, err)
	}
	iferr.Fatal(t, os.Chmod(beside, 0o777))
	path, err := (Paths{}).Locate(name, "make tools")
	if err == nil || !errors.Is(err, platform.ErrUnsupported) || !strings.Contains(err.Error(), beside+" is ignored: everybody may write to "+beside) {
		t.Errorf("%s, %v", path, err)
	}
	iferr.Fatal(t, os.Chmod(beside, 0o644))
	if path, err := (Paths{}).Locate(name, "make tools"); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("%s, %v", path, err)
	}
}

func TestSay(t *testing.T) {
	if said, err := Say(t.Context(), "/bin/sh", "-c", "echo v1; echo v2 >&2; exit 1"); err != nil || said != "v1\nv2" {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := Say(t.Context(), "/nonexistent/sh"); err == nil {
		t.Errorf("%q", said)
	}
	if said, err := Say(t.Context(), "/bin/sh", "-c", "yes & exec yes >&2"); err == nil || err.Error() != "/bin/sh: it printed more than 65536 bytes" {
		t.Errorf("%.80q, %v", said, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Say(ctx, "/bin/sh", "-c", "sleep 54321.2 & exec sleep 54321.3")
		ended <- err
	}()
	for len(machine.Processes(t, "sleep\x0054321.2")) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel(errors.New("enough"))
	if err := <-ended; err == nil || err.Error() != "/bin/sh: enough" {
		t.Error(err)
	}
	gone(t, "sleep\x0054321.2")
}

func TestWhy(t *testing.T) {
	for _, c := range []struct {
		o    Output
		want string
	}{
		{Output{Stderr: "a\r\nb\n", Stdout: "c"}, "a | b"},
		{Output{Stdout: "1\n2\n\n3\n4\n"}, "2 | 3 | 4"},
		{Output{Status: 7}, "exit status 7, without any output"},
	} {
		if got := c.o.Why(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
