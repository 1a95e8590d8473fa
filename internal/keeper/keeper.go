// Package keeper runs a program so that it ends together with all its descendants: a process of
// nettoll's own, the keeper, is the first of a PID namespace in which the program runs. The kernel
// ends that namespace with the keeper, and the keeper ends with the agent that started it, however
// that ends. It reaps orphaned processes, gives the program its files in a file system that is
// removed with it, and can hold its sockets to addresses.
//
// In a container whose end ends everything, the keeper does without namespaces, which it may not
// create there: it looks for the program's descendants and ends them one by one.
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
	"syscall"

	"golang.org/x/sys/unix"

	"nettoll/internal/oneline"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// Args are the arguments that make a program of nettoll a keeper: it then calls Main.
var Args = []string{"agent", "keep"}

// Spec is a program and the way in which it is kept.
type Spec struct {
	Program
	// Before are run to their ends before the program, one after the other, in the same place.
	// Their output is used only if they fail.
	Before []Program
	// Files are placed in the program's working directory, which is private and in memory. Nil: it
	// has none, and begins in the agent's directory.
	Files map[string]File
	// Nobody: if the agent is root, the program runs as a user who owns nothing instead.
	Nobody bool
	// Hold are the addresses that its sockets are held to, whatever it binds; see hold.
	Hold []netip.Addr
	// Sent are the files of the program if it was sent here: see Sent. The caller closes them.
	Sent []*os.File `json:"-"`
	// Linger: the keeper and its files stay after the program has ended, until Release.
	Linger bool
}

// Program is a program and how it is started.
type Program struct {
	Path  string // looked up in PATH if it has no slash
	Args  []string
	Env   []string // added to the agent's
	Stdin string
}

// File is the content of a file: a text, then zeros up to a size.
type File struct {
	Text string
	Size int
}

// message is the agent's instruction to its keeper.
type message struct {
	Spec
	Namespaces bool // the keeper is the first process of its namespaces
	Parts      int  // files of a sent program, whose descriptors follow control
}

// report is a keeper's report to its agent: first that the program has been started, or why it was
// not; then how it ended.
type report struct {
	Error  string `json:",omitempty"`
	Unkept bool   `json:",omitempty"` // because the keeper may not do what it needs to
	Status int    // exit status; -1: by a signal
	Signal int    `json:",omitempty"`
}

// control is the descriptor through which a keeper and its agent communicate. It reaches end of
// file when the agent ends.
const control = 3

// keeper is the state of a keeper process.
type keeper struct {
	message
	agent *json.Encoder
	room  string // directory to be removed at the end; empty if the kernel does it
	kids  children
}

// Main runs a keeper; it returns the exit status of the process.
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
	for fd := range k.Parts {
		unix.CloseOnExec(control + 1 + fd) // start passes them to the program
	}
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, line) // the agent sends nothing more
		close(gone)
	}()
	ended := make(chan syscall.WaitStatus, 1)
	go func() {
		// The thread that starts the program must live as long as the program, and holds its
		// seccomp filter.
		runtime.LockOSThread()
		if err := k.settle(); err != nil {
			_ = k.agent.Encode(report{Error: err.Error(), Unkept: true})
			<-gone
			return
		}
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
		_ = k.agent.Encode(reportOf(status)) // fails if the agent has ended
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

// pass forwards signals to the program.
func (k *keeper) pass(signals <-chan os.Signal, to child) {
	for s := range signals {
		if s != syscall.SIGHUP { // of a terminal, which the agent ignores
			k.kids.signal(to, s.(syscall.Signal))
		}
	}
}

// begin prepares the program's place, and starts the program.
func (k *keeper) begin() (child, error) {
	if k.Files != nil {
		if err := k.furnish(); err != nil {
			return child{}, err
		}
	}
	if err := record.Try(k.Before, k.run); err != nil {
		return child{}, err
	}
	if len(k.Hold) > 0 {
		if err := hold(k.Hold); err != nil {
			return child{}, err
		}
	}
	return k.start(k.Program, 1, 2, k.Parts)
}

// settle makes the keeper the parent of orphans, raises the limit of open files for the programs to
// its maximum, since Go programs do so only for themselves, and lets everybody read what it makes:
// with a umask such as 077, a program that runs as another user could not read its own files.
func (k *keeper) settle() error {
	unix.Umask(0o022)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		files.Cur = files.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files) // if it fails, the lower limit is enough in most cases
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
	// In a container that hides parts of /proc this is refused. Then programs see the agent's
	// /proc.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nil
}

// furnish makes the program's directory, and changes into it.
func (k *keeper) furnish() error {
	dir := "/dev/shm"
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = "/tmp"
	}
	const everybody = 0o777 | os.ModeSticky // whichever user the program runs as
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

// run runs a program to its end, and returns an error unless it succeeds.
func (k *keeper) run(p Program) error {
	out, err := Memory("output", "")
	if err != nil {
		return err
	}
	defer out.Close()
	running, err := k.start(p, int(out.Fd()), int(out.Fd()), 0)
	if err != nil {
		return err
	}
	status := <-running.ended
	if status.Exited() && status.ExitStatus() == 0 {
		return nil
	}
	const most = 2 << 10 // bytes of the end of its output
	size, _ := out.Seek(0, io.SeekEnd)
	said := make([]byte, min(size, most))
	n, _ := out.ReadAt(said, size-int64(len(said)))
	how := fmt.Sprintf("exit status %d", status.ExitStatus())
	if status.Signaled() {
		how = "killed by signal: " + status.Signal().String()
	}
	return fmt.Errorf("%s: %s: %s", filepath.Base(p.Path), how, oneline.Last(string(said[:n]), 5))
}

// nobody is the user and group ID of a user who owns nothing.
const nobody = 65534

// start starts a program with the given descriptors for its output, and the number of files in which it was sent.
func (k *keeper) start(p Program, stdout, stderr, sent int) (running child, err error) {
	path, args := p.Path, p.Args
	if sent > 0 {
		path, args = Sent(sent, p.Args)
	} else if path, err = exec.LookPath(p.Path); err != nil && !errors.Is(err, exec.ErrDot) {
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
	for sent > 0 && len(attr.Files) < firstSent {
		attr.Files = append(attr.Files, ^uintptr(0)) // closed
	}
	for fd := range sent {
		attr.Files = append(attr.Files, uintptr(control+1+fd))
	}
	argv := append([]string{p.Path}, args...)
	if !k.Nobody || os.Geteuid() != 0 {
		running, err = k.kids.start(path, argv, attr)
	} else {
		attr.Sys.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		running, err = k.kids.start(path, argv, attr)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
			// Root of an ordinary user's user namespace cannot change to another user, but can be
			// mapped to another ID in a further namespace.
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
	return running, wrap.Error(err, "fork/exec %s", p.Path)
}

// Memory returns a file in memory that contains a text, positioned at its beginning. Unlike a pipe
// it can be opened again through /dev/stdin.
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
		_ = os.RemoveAll(k.room) // if it fails, it is removed with its container
	}
}
