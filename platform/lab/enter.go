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
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv marks the process that runs inside the lab's namespaces.
const insideEnv = "NETTOLL_INSIDE_LAB"

// Inside reports whether this process is the one inside.
func Inside() bool { return os.Getenv(insideEnv) != "" }

// AsRoot reports, inside, whether root made the lab, and not an ordinary user
// in a user namespace.
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
}

// Enter runs this program again, with the same arguments, in fresh user (unless
// root), mount, PID and network namespaces, and returns its exit status. The
// process inside is killed when this one dies, and with it, as the first process
// of its PID namespace, everything in the lab.
//
// Enter must be called from the main goroutine: the kernel ties the death signal
// to the thread that forked, and only the main thread lives as long as the process.
func Enter(o EnterOptions) (status int, err error) {
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    !o.Foreground,
	}
	mark := insideAsRoot
	if os.Geteuid() != 0 {
		mark = insideAsUser
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	cmd.SysProcAttr = attr
	cmd.Env = append(os.Environ(), insideEnv+"="+mark)

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, explain(err)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGINT && o.Foreground {
				continue // the terminal has sent it to the process inside too
			}
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	if o.Foreground {
		takeTerminal()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// takeTerminal puts this process back in the terminal's foreground, where a
// shell inside has put itself.
func takeTerminal() {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(os.Stdin.Fd()), unix.TIOCSPGRP, unix.Getpgrp()) // fails where there is no terminal
}

// explain says what stands in the way of namespaces, and what would mend it.
func explain(err error) error {
	read := func(path string) string {
		b, _ := os.ReadFile(path)
		return strings.TrimSpace(string(b))
	}
	remedy := "run as root, or ask the administrator for user namespaces"
	switch {
	case os.Geteuid() == 0:
		remedy = "root lacks CAP_SYS_ADMIN here; in a container, start it with --privileged"
	case read("/proc/sys/user/max_user_namespaces") == "0":
		remedy = "run as root, or: sysctl -w user.max_user_namespaces=15000"
	case read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		remedy = "run as root, or: sysctl -w kernel.unprivileged_userns_clone=1"
	case read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		remedy = "run as root, or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return fmt.Errorf("lab: create namespaces: %w; %s", err, remedy)
}

// Prepare makes the namespaces of the process inside usable: private mounts,
// its own /proc for its own processes, an empty /run, and a loopback device.
func Prepare() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("lab: %s is set, but this is no lab; unset it", insideEnv)
	}
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
