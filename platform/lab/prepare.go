package lab

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/internal/process"
)

// Prepare makes the program inside ready for what it is for. Its signals are heard from then
// on.
func Prepare() error {
	if os.Getenv(firstEnv) == "" || os.Getppid() != 1 {
		return fmt.Errorf("lab: %s is set, but this is not a lab; unset it", insideEnv)
	}
	process.Bind()
	unix.CloseOnExec(lifeline)
	// Told to stop, for writing to a terminal from its background, it would leave a
	// measurement standing.
	signal.Ignore(syscall.SIGTTOU)
	if err := say(wordReady); err != nil {
		return fmt.Errorf("lab: tell the outer process: %w", err)
	}
	return nil
}

var saying sync.Mutex

// say says a word to those whom the lab ends with.
func say(word string) error {
	saying.Lock()
	defer saying.Unlock()
	_, err := unix.Write(lifeline, []byte(word+"\n"))
	return err
}

// Leaves implements platform.Undertaker.
func (*host) Leaves(cgroup string) error {
	if !Inside() {
		return nil // nobody would hear it
	}
	return say(wordCgroup + strings.TrimPrefix(cgroup, "/"))
}

// mounts makes the mounts of the lab its own, with its own /proc for its own processes, and an
// empty /run.
func mounts() error {
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
