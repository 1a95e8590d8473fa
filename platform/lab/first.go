package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A lab's first process does nothing but what the first process of a PID namespace must. It
// starts the program once more, which is then inside, gives back to the kernel what ends and
// has no parent any more, and passes signals on. The lab ends with it, and it ends with the
// program inside or with the outer process, whichever is first.

// firstEnv marks the program that the first process has started.
const firstEnv = "NETTOLL_LAB_FIRST"

// lifeline is a socket whose other end the outer process holds, or, in the program inside,
// the first process. By it the outer one learns of words, and the inner ones of its end.
const lifeline = 3

// Words of the lifeline, one a line.
const (
	wordReady  = "ready"   // signals are heard
	wordCgroup = "cgroup " // a control group that is to go with the lab
	wordKilled = "killed " // by which signal the program inside was ended
)

// Remains removes control groups, by name, that a lab has left when it ended.
type Remains func(cgroups []string)

// First is called at the beginning of main. In the first process of a lab it does not return.
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

	mu     sync.Mutex // listen adds, while end reads
	groups []string
}

// run lives as long as the program inside, whose exit status it gives, or the outer process.
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
	// Signals of a terminal are for the program alone. Not before it is there: what this
	// process was started to ignore, the program is to ignore.
	_ = unix.Setpgid(0, 0) // which it may be already
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
			_ = unix.Kill(pid, s.(syscall.Signal)) // fails where it has just ended
		case <-gone:
			return 128 + int(syscall.SIGKILL), nil
		case s := <-ended:
			<-heard // to its last word
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
		fmt.Fprintln(f.outer, words.Text()) // who does not hear it has gone
	}
}

// reapUntil reaps whoever ends, until that is the program inside.
func reapUntil(pid int) syscall.WaitStatus {
	for {
		var s syscall.WaitStatus
		if got, err := syscall.Wait4(-1, &s, 0, nil); err == nil && got == pid {
			return s
		} else if err == syscall.ECHILD {
			return 0 // which cannot be: the program is a child
		}
	}
}

// endTime bounds the end of all processes of a lab.
const endTime = 5 * time.Second

// end removes the control groups of what has been in the lab, which the kernel does not do.
func (f *first) end() {
	f.mu.Lock()
	groups := slices.Clone(f.groups)
	f.mu.Unlock()
	if len(groups) == 0 {
		return // the kernel ends the processes with this one
	}
	_ = unix.Kill(-1, unix.SIGKILL) // fails where nobody is left
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

// words hears what the processes inside say, until they have ended.
func words(line *os.File, ready func()) (groups []string, killed syscall.Signal) {
	heard := bufio.NewScanner(line)
	for heard.Scan() {
		word := heard.Text()
		var signal int
		switch name, ok := strings.CutPrefix(word, wordCgroup); {
		case ok:
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
