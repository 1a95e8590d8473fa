package lab

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// lifeline is a socket whose other end the outer process holds. It is told by it
// that signals are heard.
const lifeline = 3

// Prepare makes the namespaces of the process inside usable: private mounts,
// its own /proc for its own processes, and an empty /run.
func Prepare() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("lab: %s is set, but this is no lab; unset it", insideEnv)
	}
	unix.CloseOnExec(lifeline)
	go dieWithOuter(os.NewFile(lifeline, "lifeline"))
	if _, err := unix.Write(lifeline, []byte{1}); err != nil {
		return fmt.Errorf("lab: tell the outer process: %w", err)
	}
	// The first process of a namespace cannot be stopped: told to, for writing to
	// a terminal from its background, it would try again and again.
	signal.Ignore(syscall.SIGTTOU)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return explain(fmt.Errorf("make mounts private: %w", err))
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("lab: mount /proc: %w; in a container, start it with --security-opt systempaths=unconfined", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); err != nil {
		return explain(fmt.Errorf("mount an empty /run: %w", err))
	}
	return nil
}

// dieWithOuter ends the process inside when the outer one has died before it
// could tie the death signal.
func dieWithOuter(outer *os.File) {
	_, _ = outer.Read(make([]byte, 1))
	os.Exit(128 + int(syscall.SIGKILL))
}
