// Package keeper runs a program so that it ends together with all that it starts: a process
// of nettoll's own, the keeper, is the first of a PID namespace in which the program runs.
// The kernel ends that namespace with the keeper, and the keeper ends with the agent that
// has started it, however that ends. It reaps whoever has lost a parent, gives the program
// the files that it wants in a file system that goes with it, and can hold its sockets to
// addresses.
//
// In a container whose end ends everything the keeper does without namespaces, which it may
// not make there: it looks for the program's descendants and ends them one by one.
package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Args are the arguments by which a program of nettoll's becomes a keeper: it calls Main
// then.
var Args = []string{"agent", "keep"}

// Spec says what is kept.
type Spec struct {
	Program
	// Before are run to their ends before the program, one after the other, where it will
	// run. What they say is wanted only when they fail.
	Before []Program
	// Files are in the directory that the program begins in, which is in memory and its
	// own. Nil: it has none, and begins where the agent is.
	Files map[string]File
	// Nobody: it does not run as root where the agent does, but as a user who owns nothing.
	Nobody bool
	// Hold are the addresses that its sockets are held to, whatever it binds; see hold.
	Hold []netip.Addr
	// Linger: the keeper stays when the program has ended, with its files, until Release.
	Linger bool
}

// Program is a program and how it is started.
type Program struct {
	Path  string // looked up in PATH when it has no slash
	Args  []string
	Env   []string // added to the agent's
	Stdin string
}

// File is the content of a file: a text, then zeros up to a size.
type File struct {
	Text string
	Size int
}

// message is what the agent tells its keeper.
type message struct {
	Spec
	Namespaces bool // it is the first process of its namespaces
}

// report is what a keeper tells its agent: first that the program has been started, or
// why it was not; then how it ended.
type report struct {
	Error  string `json:",omitempty"`
	Status int    // exit status; -1: by a signal
	Signal int    `json:",omitempty"`
}

// control is the descriptor by which a keeper and its agent speak. Its end is the agent's.
const control = 3

// keeper is the process.
type keeper struct {
	message
	agent *json.Encoder
	room  string // directory to be removed at the end; empty where the kernel does it
	kids  children
}

// Main is the life of a keeper; it returns the exit status of the process.
func Main() int {
	unix.CloseOnExec(control)
	line := os.NewFile(control, "agent")
	k := &keeper{agent: json.NewEncoder(line), kids: newChildren()}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	words := json.NewDecoder(line)
	if err := words.Decode(&k.message); err != nil {
		fmt.Fprintln(os.Stderr, "the keeper of a program is started by nettoll itself:", err)
		return 2
	}
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, line) // the rest is silence
		close(gone)
	}()
	ended := make(chan syscall.WaitStatus, 1)
	go func() {
		// The thread that starts the program must live as long as it, and has its filter.
		runtime.LockOSThread()
		p, err := k.begin()
		if err != nil {
			_ = k.agent.Encode(report{Error: err.Error()})
			<-gone
			return
		}
		_ = k.agent.Encode(report{})
		go k.pass(signals, p)
		ended <- <-p.ended
	}()
	select {
	case <-gone:
	case status := <-ended:
		_ = k.agent.Encode(reportOf(status)) // who does not hear it has gone
		if k.Linger {
			<-gone
		}
	}
	k.end()
	return 0
}

func reportOf(s syscall.WaitStatus) report {
	if s.Signaled() {
		return report{Status: -1, Signal: int(s.Signal())}
	}
	return report{Status: s.ExitStatus()}
}

// pass passes signals on to the program.
func (k *keeper) pass(signals <-chan os.Signal, to child) {
	for s := range signals {
		if s != syscall.SIGHUP { // of a terminal that the agent does not care about
			k.kids.signal(to, s.(syscall.Signal))
		}
	}
}

// begin does what comes before the program, and starts it.
func (k *keeper) begin() (child, error) {
	if err := k.settle(); err != nil {
		return child{}, err
	}
	if k.Files != nil {
		if err := k.furnish(); err != nil {
			return child{}, err
		}
	}
	for _, p := range k.Before {
		if err := k.run(p); err != nil {
			return child{}, err
		}
	}
	if len(k.Hold) > 0 {
		if err := hold(k.Hold); err != nil {
			return child{}, err
		}
	}
	return k.start(k.Program, 1, 2)
}

// settle makes the keeper the one whom orphans are given to, and lets programs open as many
// files as they may: Go programs do so for themselves alone.
func (k *keeper) settle() error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		files.Cur = files.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) // less will do in most cases
	}
	if !k.Namespaces {
		return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("the keeper is process %d of its namespace, and should be the first", os.Getpid())
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// In a container that hides parts of /proc this is refused. Then programs see what the
	// agent sees.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nil
}

// furnish makes the program's directory, and begins in it.
func (k *keeper) furnish() error {
	dir := "/dev/shm"
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = "/tmp"
	}
	const everybody = 0o777 | os.ModeSticky // whoever the program runs as
	if k.Namespaces {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	} else {
		made, err := os.MkdirTemp(dir, "nettoll-")
		if err != nil {
			return err
		}
		k.room, dir = made, made
		if err := os.Chmod(dir, everybody); err != nil {
			return err
		}
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	for name, file := range k.Files {
		if err := os.WriteFile(name, []byte(file.Text), 0o644); err != nil {
			return err
		}
		if size := max(file.Size, len(file.Text)); size > len(file.Text) {
			if err := os.Truncate(name, int64(size)); err != nil {
				return err
			}
		}
	}
	return nil
}

// run runs a program to its end, which must be a good one.
func (k *keeper) run(p Program) error {
	out, err := Memory("output", "")
	if err != nil {
		return err
	}
	defer out.Close()
	running, err := k.start(p, int(out.Fd()), int(out.Fd()))
	if err != nil {
		return err
	}
	status := <-running.ended
	if status.Exited() && status.ExitStatus() == 0 {
		return nil
	}
	const most = 2 << 10 // bytes of the end of what it said
	size, _ := out.Seek(0, io.SeekEnd)
	said := make([]byte, min(size, most))
	n, _ := out.ReadAt(said, size-int64(len(said)))
	how := fmt.Sprintf("exit status %d", status.ExitStatus())
	if status.Signaled() {
		how = "killed by signal: " + status.Signal().String()
	}
	return fmt.Errorf("%s: %s: %s", filepath.Base(p.Path), how, lastLines(string(said[:n])))
}

// lastLines are the last lines of a text on one.
func lastLines(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// nobody is the user and the group of who owns nothing.
const nobody = 65534

// start starts a program with these descriptors for its output.
func (k *keeper) start(p Program, stdout, stderr int) (running child, err error) {
	path, err := exec.LookPath(p.Path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return running, err
	}
	stdin, err := Memory("input", p.Stdin)
	if err != nil {
		return running, err
	}
	defer stdin.Close()
	attr := &syscall.ProcAttr{
		Env:   append(append(os.Environ(), "LC_ALL=C"), p.Env...),
		Files: []uintptr{stdin.Fd(), uintptr(stdout), uintptr(stderr)},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	argv := append([]string{p.Path}, p.Args...)
	if !k.Nobody || os.Geteuid() != 0 {
		running, err = k.kids.start(path, argv, attr)
	} else {
		attr.Sys.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		running, err = k.kids.start(path, argv, attr)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
			// Root of a user namespace of an ordinary user has no other user to become, but
			// can have another name in one more.
			attr.Sys.Credential = nil
			attr.Sys.Cloneflags = unix.CLONE_NEWUSER
			attr.Sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: 0, Size: 1}}
			attr.Sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: 0, Size: 1}}
			running, err = k.kids.start(path, argv, attr)
		}
		if errors.Is(err, unix.EACCES) {
			err = fmt.Errorf("%w (it is not started as root: everybody must be able to run it)", err)
		}
	}
	if err != nil {
		return running, fmt.Errorf("fork/exec %s: %w", path, err)
	}
	return running, nil
}

// Memory is a file in memory with a text, at its beginning. It can be opened again by way
// of /dev/stdin, as a pipe cannot.
func Memory(name, text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("nettoll-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

// end ends all that is left of the program. In a namespace the kernel does that.
func (k *keeper) end() {
	if k.Namespaces {
		return
	}
	k.kids.endAll()
	if k.room != "" {
		_ = os.RemoveAll(k.room) // it goes with its container
	}
}
