// Package lab is the default platform: hosts and containers that are private namespaces of this machine. The
// process that uses it runs in namespaces of its own, so that the kernel removes everything when it ends, in
// whatever way.
package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/cgroup"
	"nettoll/internal/netns"
)

// insideEnv marks the process that runs inside the lab's namespaces.
const insideEnv = "NETTOLL_INSIDE_LAB"

// Inside reports whether this process runs inside a lab.
func Inside() bool { return os.Getenv(insideEnv) != "" }

// AsRoot reports, inside, whether root of the machine made the lab, rather than an ordinary user or root of another
// user namespace; see netns.IsRoot.
func AsRoot() bool { return os.Getenv(insideEnv) == insideAsRoot }

const (
	insideAsRoot = "root"
	insideAsUser = "user"
)

// EnterOptions controls how the process inside relates to the terminal.
type EnterOptions struct {
	// Foreground leaves it in the terminal's foreground, for an interactive shell, and takes the terminal back
	// afterwards. Otherwise interrupts reach only the outer process, which passes them on.
	Foreground bool
	// Done ends the lab as an interrupt does when it is closed. A caller that listens to signals before Enter does
	// uses it to pass on earlier ones.
	Done <-chan struct{}
	// Remove removes what the lab has left if it was killed.
	Remove Remains
}

// Enter runs this program again, with the same arguments, in new mount, PID and network namespaces, and in a new
// user namespace if it lacks the privilege for these, and returns its exit status. The program calls First there,
// which starts it once more. The first process ends when this one does, in whatever way, and everything in the lab
// ends with it. The error is ErrKilled if a second interrupt ended the lab.
func Enter(o EnterOptions) (status int, err error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Setpgid:    !o.Foreground,
	}
	mark := insideAsRoot
	if !netns.IsRoot() {
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
	// Never stopped: after Enter returns, the caller only reports how it ended.
	signal.Notify(signals, append(Ending(), syscall.SIGTSTP)...)
	starved := cgroup.Starved()
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return 0, explain(err)
	}
	ready, silent := make(chan struct{}), make(chan struct{})
	var groups []string
	var killed syscall.Signal
	ended := make(chan struct{})
	var kept sync.WaitGroup
	go func() {
		groups, killed = words(ours, sync.OnceFunc(func() { close(ready) }), func() {
			wait := keepBridges("/proc/sys")
			kept.Go(func() { wait(ended) })
		})
		close(silent)
	}()
	r := &relay{inside: cmd.Process}
	go r.run(signals, o.Done, ready)
	err = cmd.Wait()
	<-silent // all writers of the lifeline have ended
	close(ended)
	kept.Wait()
	if len(groups) > 0 && o.Remove != nil {
		o.Remove(groups)
	}
	if o.Foreground {
		takeTerminal()
	}
	var exit *exec.ExitError
	signaled := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
	by := killed
	if signaled {
		by = exit.Sys().(syscall.WaitStatus).Signal()
	}
	why := ""
	if by == syscall.SIGKILL && cgroup.Starved() > starved {
		why = cgroup.ByKernel
	}
	switch {
	case r.killed.Load():
		return 0, ErrKilled
	case killed != 0:
		return 0, fmt.Errorf("lab: the process inside did not end by itself: signal: %v%s", killed, why)
	case signaled:
		return 0, fmt.Errorf("lab: the process inside did not end by itself: %w%s", err, why)
	case exit == nil:
		return 0, err
	}
	return exit.ExitCode(), nil
}

// explain adds to an error why namespaces cannot be created, and what would fix it.
func explain(err error) error {
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	remedy := "run as root, or ask the administrator to allow user namespaces"
	// In a lab an ordinary user is root, too, and may learn only there that nothing is allowed.
	root := os.Geteuid() == 0 && !ordinary(read("/proc/self/uid_map"))
	switch {
	case root && !mayMakeNamespaces():
		remedy = "root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN here, and may not make user namespaces either; if this is a container, start it with --privileged"
	case root:
		remedy = "if this is a container, start it with --privileged"
	case read("/proc/sys/user/max_user_namespaces") == "0":
		remedy = "run as root, or: sysctl -w user.max_user_namespaces=15000"
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		remedy = "run as root, or: sysctl -w kernel.unprivileged_userns_clone=1"
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		remedy = "run as root, or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	}
	if errors.Is(err, unix.ENOSPC) { // ENOSPC does not refer to a disk here
		err = errors.New("the limit on namespaces is reached")
		if root || Inside() {
			remedy = "to see the limits: sysctl user"
		}
	}
	return fmt.Errorf("lab: create namespaces: %w; %s", err, remedy)
}

// ordinary reports whether the users of a user namespace, as /proc/self/uid_map lists them, are only one, who is not root
// outside of it: an ordinary user has made it.
func ordinary(users string) bool {
	f := strings.Fields(users)
	return len(f) == 3 && f[1] != "0" && f[2] == "1"
}

// mayMakeNamespaces reports whether this process can make namespaces of all kinds, and devices in them, without first
// becoming root of a user namespace of its own.
func mayMakeNamespaces() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	const needed = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN // both are in the first set
	return err == nil && sets[0].Effective&needed == needed
}

// ErrKilled is the error of a lab that a second signal ended at once.
var ErrKilled = errors.New("interrupted twice: ended at once")

// Again is how long after the first of the signals that end a lab another one counts as a second signal. Some
// programs send one signal both to a process and to its group, which is one request.
const Again = 400 * time.Millisecond

// Ending returns the signals that end a lab, except those that this process was started to ignore, as nohup does.
func Ending() []os.Signal {
	all := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// relay passes signals on to the first process, except for SIGTSTP: the clocks of a measurement would keep running
// while it is stopped.
type relay struct {
	inside *os.Process
	killed atomic.Bool
}

// run passes one signal on, once the process inside is ready for it: until it listens it would be lost, as for every first
// process of a PID namespace. What else comes within Again is the same request. On a busy machine it may be heard so late that
// it would be taken for a second one, here or inside.
func (r *relay) run(signals <-chan os.Signal, done, ready <-chan struct{}) {
	var request os.Signal
	var again <-chan time.Time
	for {
		var s os.Signal
		select {
		case <-again:
			again = nil
			for len(signals) > 0 {
				<-signals // it came before
			}
			continue
		case <-ready:
			ready = nil
			if request != nil {
				_ = r.inside.Signal(request)
			}
			continue
		case <-done:
			done, s = nil, syscall.SIGTERM // SIGINT is ignored by what a shell without job control runs in the background
		case s = <-signals:
			if request != nil && again == nil && s != syscall.SIGTSTP {
				r.killed.Store(true)
				_ = r.inside.Kill()
			}
		}
		if request == nil && s != syscall.SIGTSTP {
			request, again = s, time.After(Again)
			if ready == nil {
				_ = r.inside.Signal(request)
			}
		}
	}
}

// takeTerminal puts this process back in the terminal's foreground, in case a shell inside has put itself there.
func takeTerminal() {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, unix.Getpgrp()) // fails where there is no terminal
}
