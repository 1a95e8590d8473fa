package main

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

func TestRealTimePolicy(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may have a real-time policy")
	}
	runtime.LockOSThread() // not unlocked: the thread ends with the test
	usual, err := unix.SchedGetAttr(0, 0)
	iferr.Fatal(t, err)
	for _, c := range []struct {
		at      unix.SchedAttr
		refused bool
	}{
		{unix.SchedAttr{Policy: unix.SCHED_BATCH}, false},
		{unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}, true},
		{unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 1}, true},
		{unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, false},
	} {
		c.at.Size = unix.SizeofSchedAttr
		if err := unix.SchedSetAttr(0, &c.at, 0); errors.Is(err, unix.EPERM) {
			t.Skip("this root may not have a real-time policy")
		} else if err != nil {
			t.Fatal(err)
		}
		if err := yielding(); (err != nil) != c.refused {
			t.Errorf("policy %d, flags %d: %v", c.at.Policy, c.at.Flags, err)
		}
	}
	iferr.Error(t, unix.SchedSetAttr(0, usual, 0))
}
