package lab

import (
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrKilled is the error of a lab that a second signal ended at once.
var ErrKilled = errors.New("interrupted twice: ended at once")

// Again is how long after the first of the signals that end a lab another one is a
// second. Some programs send one both to a process and to its group, which is one wish.
const Again = 400 * time.Millisecond

// Ending are the signals that end a lab, less those that this process was
// started to ignore, as nohup does.
func Ending() []os.Signal {
	all := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// relay passes signals on to the first process, but for the wish to stop: the
// clocks of a measurement would go on.
type relay struct {
	inside *os.Process
	killed atomic.Bool
}

// run holds signals back until the process inside is ready for them: before it
// listens they would be lost on it, as on every first process of a namespace.
func (r *relay) run(signals <-chan os.Signal, done, ready <-chan struct{}) {
	var first time.Time
	var held os.Signal
	for {
		var s os.Signal
		select {
		case <-ready:
			ready, s = nil, held
		case <-done:
			done, s = nil, syscall.SIGINT
			if first.IsZero() {
				first = time.Now()
			}
		case s = <-signals:
			switch {
			case s == syscall.SIGTSTP:
			case first.IsZero():
				first = time.Now()
			case time.Since(first) > Again:
				r.killed.Store(true)
				_ = r.inside.Kill()
			}
		}
		switch {
		case s == nil || s == syscall.SIGTSTP:
		case ready != nil:
			held = s
		default:
			_ = r.inside.Signal(s)
		}
	}
}

// takeTerminal puts this process back in the terminal's foreground, where a
// shell inside has put itself.
func takeTerminal() {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, unix.Getpgrp()) // fails where there is no terminal
}
