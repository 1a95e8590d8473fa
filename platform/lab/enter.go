// Package lab is the default platform: hosts and containers that are private
// namespaces of this machine. The process that uses it runs in namespaces of
// its own, so that the kernel removes everything when it ends, in whatever way.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv marks the process that runs inside the lab's namespaces.
const insideEnv = "NETTOLL_INSIDE_LAB"

// Inside reports whether this process is the one inside.
func Inside() bool { return os.Getenv(insideEnv) != "" }

// AsRoot reports, inside, whether root of the machine made the lab, and not an
// ordinary user, or root of another user namespace; see IsRoot.
func AsRoot() bool { return os.Getenv(insideEnv) == insideAsRoot }

const (
	insideAsRoot = "root"
	insideAsUser = "user"
)

// EnterOptions say how the process inside relates to the terminal.
type EnterOptions struct {
	// Foreground leaves it in the terminal's foreground, for an interactive shell,
	// and takes the terminal back afterwards. Otherwise interrupts reach only the
	// outer process, which passes them on.
	Foreground bool
	// Done, when it is closed, ends the lab as an interrupt does. Whoever listens
	// to signals before Enter does passes on by it what came earlier.
	Done <-chan struct{}
	// Remove removes what the lab has left if it was killed.
	Remove Remains
}

// Enter runs this program again, with the same arguments, in fresh user (unless it
// may do without), mount, PID and network namespaces, and returns its exit status. It calls
// First there, which starts it once more. The first process ends when this one has, in
// whatever way, and with it everything in the lab. The error is ErrKilled when interrupts
// asked for that.
func Enter(o EnterOptions) (status int, err error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Setpgid:    !o.Foreground,
	}
	mark := insideAsRoot
	if !IsRoot() {
		mark = insideAsUser
	}
	if !mayMakeNamespaces() {
		mark = insideAsUser
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), insideEnv+"="+mark)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("lab: %w", os.NewSyscallError("socketpair", err))
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "lifeline"), os.NewFile(uintptr(pair[1]), "lifeline")
	defer ours.Close()
	cmd.ExtraFiles = []*os.File{lifeline - 3: theirs}

	signals := make(chan os.Signal, 8)
	// For good: who comes back from here has only to say how it ended.
	signal.Notify(signals, append(Ending(), syscall.SIGTSTP)...)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return 0, explain(err)
	}
	ready, silent := make(chan struct{}), make(chan struct{})
	var groups []string
	var killed syscall.Signal
	go func() {
		groups, killed = words(ours, sync.OnceFunc(func() { close(ready) }))
		close(silent)
	}()
	r := &relay{inside: cmd.Process}
	go r.run(signals, o.Done, ready)
	err = cmd.Wait()
	<-silent // all have ended who could speak
	if len(groups) > 0 && o.Remove != nil {
		o.Remove(groups)
	}
	if o.Foreground {
		takeTerminal()
	}
	var exit *exec.ExitError
	signaled := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
	switch {
	case r.killed.Load():
		return 0, ErrKilled
	case killed != 0:
		return 0, fmt.Errorf("lab: the process inside did not end by itself: signal: %v", killed)
	case signaled:
		return 0, fmt.Errorf("lab: the process inside did not end by itself: %w", err)
	case exit == nil:
		return 0, err
	}
	return exit.ExitCode(), nil
}

// explain says what stands in the way of namespaces, and what would fix it.
func explain(err error) error {
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	remedy := "run as root, or ask the administrator for user namespaces"
	switch {
	case os.Geteuid() == 0 && !mayMakeNamespaces():
		remedy = "root lacks CAP_SYS_ADMIN here, and may not make user namespaces either; in a container, start it with --privileged"
	case os.Geteuid() == 0:
		remedy = "in a container, start it with --privileged"
	case read("/proc/sys/user/max_user_namespaces") == "0":
		remedy = "run as root, or: sysctl -w user.max_user_namespaces=15000"
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		remedy = "run as root, or: sysctl -w kernel.unprivileged_userns_clone=1"
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		remedy = "run as root, or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	}
	if errors.Is(err, unix.ENOSPC) { // which is no word about any disk
		err = errors.New("the limit of namespaces is reached")
		if os.Geteuid() == 0 {
			remedy = "see sysctl user for the limits"
		}
	}
	return fmt.Errorf("lab: create namespaces: %w; %s", err, remedy)
}
