package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/platform"
)

// Kept is a program and its keeper, as the agent sees them.
type Kept struct {
	// Cmd is the keeper, once it has been started. Its CPU time is negligible, and its output is
	// the program's.
	Cmd *exec.Cmd

	line   *os.File // the agent's end of control
	alone  bool     // the keeper has no namespaces
	begun  chan report
	ended  chan struct{} // closed when the program or its keeper has ended
	report report        // how the program ended, if known; read it after ended is closed
	known  bool
}

// namespaces are the namespaces of a keeper. The IPC namespace is for objects that a killed
// PostgreSQL leaves behind.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC

// handshake bounds how long a keeper may take to receive its instructions.
const handshake = 30 * time.Second

// Start starts a keeper with the given output. bound means that all processes here end with nettoll
// anyway: then the keeper may do without namespaces. The calling thread must live until Wait has
// returned. The error wraps platform.ErrUnsupported if nothing would end the program.
func Start(s Spec, stdout, stderr io.Writer, bound bool) (*Kept, error) {
	k, err := try(s, stdout, stderr, namespaces, false)
	if !refused(err) {
		return k, err
	}
	if bound {
		return try(s, stdout, stderr, 0, false)
	}
	if k, err = try(s, stdout, stderr, namespaces, true); refused(err) {
		err = unkept(err)
	}
	return k, err
}

// refused reports whether the kernel does not let this user create namespaces.
func refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL)
}

// unkept returns the error that a program could outlive nettoll.
func unkept(err error) error {
	return &platform.Unsupported{
		Feature: "a server that runs on this machine", Option: "a PID namespace, which ends all processes that it starts",
		Remedy: "run as root, allow user namespaces, or use --private-engine", Err: err,
	}
}

// CanKeep returns an error unless programs of this machine can have keepers with namespaces.
func CanKeep() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k, err := Start(Spec{Program: Program{Path: "/proc/self/exe", Args: []string{"--version"}}}, nil, nil, false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshake)
	defer cancel()
	err = k.Ready(ctx)
	k.discard()
	if err != nil && !errors.Is(err, platform.ErrUnsupported) {
		err = unkept(err)
	}
	return err
}

func try(s Spec, stdout, stderr io.Writer, flags uintptr, user bool) (*Kept, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "agent")
	if err := unix.SetNonblock(pair[0], true); err != nil { // so that it can be closed while being read
		theirs.Close()
		unix.Close(pair[0])
		return nil, os.NewSyscallError("fcntl", err)
	}
	k := &Kept{line: os.NewFile(uintptr(pair[0]), "keeper"), alone: flags == 0, begun: make(chan report, 1), ended: make(chan struct{})}
	k.Cmd = exec.Command("/proc/self/exe", Args...)
	k.Cmd.Stdout, k.Cmd.Stderr = stdout, stderr
	k.Cmd.WaitDelay = 5 * time.Second // for a descendant that holds an output open; what is unread then is lost
	k.Cmd.ExtraFiles = append([]*os.File{control - 3: theirs}, s.Sent...)
	k.Cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: flags}
	if !k.alone { // a keeper without namespaces needs time to end its processes
		k.Cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if user {
		k.Cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		k.Cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		k.Cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err = k.Cmd.Start()
	theirs.Close() // otherwise the end of the keeper would not be noticed here
	if err != nil {
		k.line.Close()
		return nil, err
	}
	go k.listen()
	_ = k.line.SetWriteDeadline(time.Now().Add(handshake))
	err = json.NewEncoder(k.line).Encode(message{s, flags != 0, len(s.Sent)})
	if err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) { // Ready says that the keeper has ended
		k.discard()
		return nil, fmt.Errorf("tell the keeper what to start: %w", err)
	}
	return k, nil
}

// listen receives the keeper's reports.
func (k *Kept) listen() {
	defer close(k.ended)
	words := json.NewDecoder(k.line)
	var first, last report
	if err := words.Decode(&first); err != nil {
		first.Error = "its keeper has ended"
	}
	k.begun <- first
	if first.Error != "" {
		return
	}
	if err := words.Decode(&last); err == nil {
		k.report, k.known = last, true
	}
}

// Ready returns when the program has been started. If that fails, or ctx ends before, the caller
// must kill the keeper. The error wraps platform.ErrUnsupported as that of Start does.
func (k *Kept) Ready(ctx context.Context) error {
	select {
	case r := <-k.begun:
		switch {
		case r.Unkept: // AppArmor lets users make namespaces in which they may do nothing
			return unkept(errors.New(r.Error))
		case r.Error != "":
			return errors.New(r.Error)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ended returns a channel that is closed when the program has ended. With Linger, its keeper then
// still runs.
func (k *Kept) Ended() <-chan struct{} { return k.ended }

// Room returns the directory of the program's files, as long as the keeper runs.
func (k *Kept) Room() string { return fmt.Sprintf("/proc/%d/cwd", k.Cmd.Process.Pid) }

// Release lets the keeper end, and with it everything that is left of the program.
func (k *Kept) Release() { k.line.Close() }

// Kill ends the keeper and all its descendants at once.
func (k *Kept) Kill() {
	k.Release()
	if k.alone { // it must end its descendants itself, one by one
		return
	}
	_ = k.Cmd.Process.Kill() // fails if it has ended
}

// deathTime is how long a killed keeper may take to end.
const deathTime = 30 * time.Second

// discard kills a keeper that is not wanted, and returns when it has ended, unless it hangs in the kernel.
func (k *Kept) discard() {
	k.Kill()
	ended := make(chan struct{})
	go func() {
		_ = k.Wait() // it was killed
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(deathTime):
	}
}

// Wait returns when the keeper has ended. It is called once.
func (k *Kept) Wait() error {
	err := k.Cmd.Wait()
	<-k.ended // its last report has been read
	k.Release()
	return err
}

// Status returns how the program ended, if the keeper reported it before it ended itself: the exit
// status, or -1 and the signal. It may be called when Wait has returned.
func (k *Kept) Status() (status int, signal syscall.Signal, known bool) {
	<-k.ended
	if !k.known {
		return -1, 0, false
	}
	return k.report.Status, syscall.Signal(k.report.Signal), true
}
