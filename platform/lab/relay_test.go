package lab

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"nettoll/internal/testutil/iferr"
)

// TestOneRequestIsPassedOnOnce has a relay hear of one signal twice: from the signal itself, and from a caller that has heard it,
// too. The process inside is this one.
func TestOneRequestIsPassedOnOnce(t *testing.T) {
	inside, err := os.FindProcess(os.Getpid())
	iferr.Fatal(t, err)
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1)
	defer signal.Stop(heard)
	signals, done, ready := make(chan os.Signal), make(chan struct{}), make(chan struct{})
	go (&relay{inside: inside}).run(signals, done, ready)
	signals <- syscall.SIGTERM
	close(ready)
	if s := <-heard; s != syscall.SIGTERM {
		t.Errorf("%v was passed on instead of SIGTERM", s)
	}
	close(done)
	for range 64 { // by the last one it has heard that the caller is done
		signals <- syscall.SIGTSTP
	}
	iferr.Fatal(t, inside.Signal(syscall.SIGUSR1))
	if s := <-heard; s != syscall.SIGUSR1 {
		t.Errorf("%v was passed on, too", s)
	}
}

// TestEndOfTheCallerIsPassedOn checks that a caller that is done ends what is inside, also where that ignores SIGINT.
func TestEndOfTheCallerIsPassedOn(t *testing.T) {
	inside, err := os.FindProcess(os.Getpid())
	iferr.Fatal(t, err)
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, syscall.SIGTERM)
	defer signal.Stop(heard)
	signal.Ignore(syscall.SIGINT)
	defer signal.Reset(syscall.SIGINT)
	done, ready := make(chan struct{}), make(chan struct{})
	go (&relay{inside: inside}).run(make(chan os.Signal), done, ready)
	close(done)
	close(ready)
	if s := <-heard; s != syscall.SIGTERM {
		t.Errorf("%v was passed on", s)
	}
}
