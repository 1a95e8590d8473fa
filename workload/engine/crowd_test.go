package engine

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/record"
)

func TestCrowded(t *testing.T) {
	many := make([]int, runtime.NumCPU()+1)
	for i := range many {
		many[i] = -1
	}
	for _, c := range []struct {
		name string
		cpus []int
		want bool
	}{
		{"one flow", []int{1}, false},
		{"a CPU each", []int{1, 2}, false},
		{"two on one CPU", []int{1, 1}, true},
		{"three on two CPUs", []int{1, 2, 1}, true},
		{"one flow anywhere", []int{-1}, false},
		{"more flows than CPUs, anywhere", many, true},
	} {
		s := &session{}
		for _, cpu := range c.cpus {
			s.flows = append(s.flows, &flow{cpu: cpu})
		}
		if got := s.crowded(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPatientFlowsSettleWithinTheWarmup checks that settling neither moves nor replaces an edge of
// the window.
func TestPatientFlowsSettleWithinTheWarmup(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := &session{role: server, closed: make(chan struct{})}
		s.open.Store(1)
		f := &flow{kind: upload(), session: s, fd: -1, patient: true}
		f.schedule(100, 1000, 2000)
		step := func(at, bytes int64) {
			stepTo(f, at, bytes)
		}
		if !late {
			step(920, 10)
			step(960, 10)
			if f.next != 0 || f.cutAt != 1000 {
				t.Fatalf("after settling: %d edges passed, the next at %d", f.next, f.cutAt)
			}
		}
		want := f.total
		step(1000, 100)
		step(1900, 100)
		step(2000, 100)
		if f.before != want || f.inside() != 200 || !f.closed.Load() {
			t.Errorf("late=%v: before=%d inside=%v closed=%v, want %d, 200 and closed", late, f.before, f.inside(), f.closed.Load(), want)
		}
	}
}

// TestReceiverUnderBBR checks that a receiver under BBR is recognized: it settles though it has a
// CPU of its own.
func TestReceiverUnderBBR(t *testing.T) {
	for control, want := range map[string]bool{"reno": false, "bbr": true} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, control)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) {
			t.Logf("%s: %v", control, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f := &flow{fd: fd}
		if _, err := newReceiver(f, record.Options{MessageSize: 1000}); err != nil {
			t.Fatal(err)
		}
		if f.paced != want {
			t.Errorf("%s: paced: %v", control, f.paced)
		}
	}
}
