package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/nsexec"
	"nettoll/internal/wrap"
)

// A lab's first process only does what the first process of a PID namespace must. It starts the program once more,
// which is then inside, reaps orphans, and passes signals on. The lab ends with it, and it ends with the program
// inside or with the outer process, whichever ends first.

// firstEnv marks the program that the first process has started.
const firstEnv = "NETTOLL_LAB_FIRST"

// lifeline is a socket whose other end is held by the outer process, or, in the program inside, by the first
// process. It carries words to the outer process, and its end tells the inner ones that the outer has ended.
const lifeline = 3

// Words of the lifeline, one per line.
const (
	wordReady  = "ready"   // the program inside handles signals
	wordCgroup = "cgroup " // a control group to be removed with the lab
	wordKilled = "killed " // the signal that ended the program inside
)

// Remains removes control groups, given by name, that a lab has left when it ended.
type Remains func(cgroups []string)

// First must be called at the beginning of main. In the first process of a lab it does not return.
func First(remove Remains) {
	if !Inside() || os.Getenv(firstEnv) != "" || os.Getpid() != 1 {
		return
	}
	f := &first{outer: os.NewFile(lifeline, "lifeline"), remove: remove}
	unix.CloseOnExec(lifeline)
	status, err := f.run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "nettoll: %v\n", err)
		status = 1
	}
	f.end()
	os.Exit(status)
}

// first is the first process.
type first struct {
	outer  *os.File
	remove Remains

	mu     sync.Mutex // guards groups: listen adds while end reads
	groups []string
}

// run returns when the program inside ends, with its exit status, or when the outer process ends.
func (f *first) run() (status int, err error) {
	if err := mounts(); err != nil {
		return 0, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("lab: %w", os.NewSyscallError("socketpair", err))
	}
	inner := os.NewFile(uintptr(pair[0]), "inside")
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: append(os.Environ(), firstEnv+"=1"), Files: []uintptr{0, 1, 2, lifeline: uintptr(pair[1])},
	})
	unix.Close(pair[1])
	if err != nil {
		return 0, fmt.Errorf("lab: start the program inside: %w", err)
	}
	// Signals of a terminal are for the program alone. This is done only after it has started, since the program
	// must ignore the signals that this process was started to ignore.
	_ = unix.Setpgid(0, 0) // fails if this is already a group leader
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, Ending()...)
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, f.outer)
		close(gone)
	}()
	heard := make(chan struct{})
	go f.listen(inner, heard)
	ended := make(chan syscall.WaitStatus, 1)
	go func() { ended <- reapUntil(pid) }()
	for {
		select {
		case s := <-signals:
			_ = unix.Kill(pid, s.(syscall.Signal)) // fails if it has just ended
		case <-gone:
			return 128 + int(syscall.SIGKILL), nil
		case s := <-ended:
			<-heard // all its words
			if s.Signaled() {
				fmt.Fprintf(f.outer, "%s%d\n", wordKilled, s.Signal())
				return 128 + int(s.Signal()), nil
			}
			return s.ExitStatus(), nil
		}
	}
}

// listen passes the program's words on.
func (f *first) listen(inner *os.File, heard chan<- struct{}) {
	defer close(heard)
	words := bufio.NewScanner(inner)
	for words.Scan() {
		if name, ok := strings.CutPrefix(words.Text(), wordCgroup); ok {
			f.mu.Lock()
			f.groups = append(f.groups, name)
			f.mu.Unlock()
		}
		fmt.Fprintln(f.outer, words.Text()) // fails if the outer process has ended
	}
}

// reapUntil reaps every process that ends, until the program inside does.
func reapUntil(pid int) syscall.WaitStatus {
	for {
		var s syscall.WaitStatus
		if got, err := syscall.Wait4(-1, &s, 0, nil); err == nil && got == pid {
			return s
		} else if err == syscall.ECHILD {
			return 0 // cannot happen: the program is a child
		}
	}
}

// endTime bounds the wait for all processes of a lab to end.
const endTime = 15 * time.Second

// end removes the control groups of programs that ran in the lab, which the kernel does not do.
func (f *first) end() {
	f.mu.Lock()
	groups := slices.Clone(f.groups)
	f.mu.Unlock()
	if len(groups) == 0 {
		return // the kernel ends the processes with this one
	}
	_ = unix.Kill(-1, unix.SIGKILL) // fails if no process is left
	for deadline := time.Now().Add(endTime); time.Now().Before(deadline); {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			break
		}
		if pid <= 0 {
			time.Sleep(time.Millisecond)
		}
	}
	f.remove(groups)
}

// words reads the words of the processes inside, until they have ended. engine is called when one of them starts an engine.
func words(line *os.File, ready, engine func()) (groups []string, killed syscall.Signal) {
	heard := bufio.NewScanner(line)
	for heard.Scan() {
		word := heard.Text()
		var signal int
		switch name, ok := strings.CutPrefix(word, wordCgroup); {
		case ok:
			engine()
			groups = append(groups, name)
		case word == wordReady:
			ready()
		default:
			if _, err := fmt.Sscanf(word, wordKilled+"%d", &signal); err == nil {
				killed = syscall.Signal(signal)
			}
		}
	}
	return groups, killed
}

// Prepare makes the program inside ready for use. Signals to it are handled from then on.
func Prepare() error {
	if os.Getenv(firstEnv) == "" || os.Getppid() != 1 {
		return fmt.Errorf("lab: %s is set, but this is not a lab; unset it", insideEnv)
	}
	nsexec.Bind()
	unix.CloseOnExec(lifeline)
	// Otherwise, writing to a terminal from its background would stop the program in the middle of a measurement.
	signal.Ignore(syscall.SIGTTOU)
	return wrap.Error(say(wordReady), "lab: tell the outer process")
}

var saying sync.Mutex

// say sends a word to the processes at the other end of the lifeline.
func say(word string) error {
	saying.Lock()
	defer saying.Unlock()
	_, err := unix.Write(lifeline, []byte(word+"\n"))
	return err
}

// leaves registers a control group: see platform.Facts.
func leaves(cgroup string) error {
	if !Inside() {
		return nil // there is no lifeline
	}
	return say(wordCgroup + strings.TrimPrefix(cgroup, "/"))
}

// mounts makes the lab's mounts private, with a /proc of its own processes, and a /run that has only programs.
func mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); errors.Is(err, unix.EINVAL) {
		return errors.New("lab: make mounts private: / is not a mount point, as in a chroot; before chroot DIR: mount --bind DIR DIR")
	} else if err != nil {
		return explain(fmt.Errorf("make mounts private: %w", err))
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("lab: mount /proc: %w; if this is a container, start it with --security-opt systempaths=unconfined", err)
	}
	return emptyRun()
}

// emptyRun mounts an empty /run, in which there are only the folders of Programs.
func emptyRun() error {
	defer unix.Umask(unix.Umask(0o022)) // programs of other users look there, too
	kept := map[string]*os.File{}
	for _, dir := range Programs() {
		f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // no such folder
		}
		defer f.Close()
		kept[dir] = f
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); errors.Is(err, unix.ENOENT) {
		return errors.New("lab: mount an empty /run: there is no such folder; mkdir /run")
	} else if err != nil {
		return explain(fmt.Errorf("mount an empty /run: %w", err))
	}
	for dir, f := range kept {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = unix.Mount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), dir, "", unix.MS_BIND|unix.MS_REC, "")
		}
		if err != nil {
			return fmt.Errorf("lab: mount %s, which is in PATH: %w", dir, err)
		}
	}
	return nil
}

// Programs returns the folders below /run that PATH names, as on NixOS. All else below /run is of the machine, and not to be found
// in a lab, such as the sockets of its daemons.
func Programs() (dirs []string) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir = filepath.Clean(dir); strings.HasPrefix(dir, "/run/") {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
