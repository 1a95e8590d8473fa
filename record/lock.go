package record

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockWait is how long a process that was killed may take to let go of its file.
const lockWait = 2 * time.Second

// lock keeps a run file for one writer, until it is closed. Where the file
// system has no locks, it goes without.
func lock(f *os.File) error {
	for deadline := time.Now().Add(lockWait); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: another process writes this run file", f.Name())
		}
	}
}
