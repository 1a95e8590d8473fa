package engine

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// TestFlowThatIsMoved has the thread of a flow moved from its CPU, as the kernel does if the CPU may not be used any more.
func TestFlowThatIsMoved(t *testing.T) {
	var all unix.CPUSet
	iferr.Fatal(t, unix.SchedGetaffinity(0, &all))
	if all.Count() < 2 {
		t.Skip("there is one CPU")
	}
	f := &flow{cpu: 0, label: "client flow 1"}
	for !all.IsSet(f.cpu) {
		f.cpu++
	}
	began, quit, over := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		began <- f.ownThread()
		<-quit
	}()
	iferr.Fatal(t, <-began)
	s := &session{flows: []*flow{f, {cpu: -1}, {cpu: 0}}}
	if err := s.moved(); err != nil {
		t.Error(err)
	}
	for _, others := range []bool{false, true} {
		to := all
		if others {
			to.Clear(f.cpu)
		}
		iferr.Fatal(t, unix.SchedSetaffinity(int(f.thread.Load()), &to))
		if err := s.moved(); err == nil || !strings.HasPrefix(err.Error(), "client flow 1 ran on another CPU than ") {
			t.Errorf("%v", err)
		}
	}
	close(quit)
	<-over
}
