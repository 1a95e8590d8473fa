package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// patience bounds every wait; it is not an expectation. Whole runs are waited for, on machines with ten times as much to do as they
// have CPUs.
const patience = 5 * time.Minute

// attempts is how often a run is begun that should succeed: beside other tests, a tool may get no CPU time for its whole trial. What
// is wrong fails each time.
const attempts = 3

// started is a running nettoll, with its output so far.
type started struct {
	*exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
}

// start starts nettoll in the folder. Signals that the test itself was started to ignore are not ignored by
// nettoll.
func start(t *testing.T, dir string, args ...string) *started {
	t.Helper()
	return startProgram(t, dir, "nettoll", args...)
}

func startProgram(t *testing.T, dir, program string, args ...string) *started {
	t.Helper()
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	p := &started{Cmd: exec.Command(program, args...)}
	p.Dir, p.Stdout, p.Stderr = dir, &p.out, &p.err
	p.begin(t)
	t.Cleanup(func() { _ = p.Process.Kill(); <-p.done })
	return p
}

// begin starts the program, and notes its end.
func (p *started) begin(t *testing.T) {
	t.Helper()
	iferr.Fatal(t, p.Start())
	p.done = make(chan struct{})
	go func() { _ = p.Wait(); close(p.done) }()
}

// status waits for the end and returns the exit status.
func (p *started) status(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("nettoll did not end; it said:\n%s", p.said())
	}
	return p.ProcessState.ExitCode()
}

// ends waits for the end, and checks the exit status.
func (p *started) ends(t *testing.T, want int) {
	t.Helper()
	if status := p.status(t); status != want {
		t.Errorf("exit status %d, want %d; it said:\n%s", status, want, p.said())
	}
}

// measures waits for the end of a run on a cluster, whose time is bounded by those of its networks, and checks that it succeeded.
func (p *started) measures(t *testing.T) {
	t.Helper()
	<-p.done
	p.ends(t, exitOK)
}

// again begins a run until one does not fail, at most as often as attempts, and returns the last one, which has ended. Its time is
// bounded by those of its networks.
func again(t *testing.T, begin func() *started) *started {
	t.Helper()
	for i := 1; ; i++ {
		p := begin()
		<-p.done
		if i == attempts || p.ProcessState.ExitCode() != exitFailure {
			return p
		}
		t.Logf("an attempt failed: %s", p.said())
	}
}

// succeeds runs nettoll in a folder of its own, again if that fails, and checks that the last run succeeded. It returns that run, and
// where its run file is if it was to be x.ndjson.
func succeeds(t *testing.T, args ...string) (p *started, path string) {
	t.Helper()
	p = again(t, func() *started {
		path = filepath.Join(t.TempDir(), "x.ndjson")
		return start(t, filepath.Dir(path), args...)
	})
	p.ends(t, exitOK)
	return p, path
}

func (p *started) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// said returns all output of nettoll, which it kills first.
func (p *started) said() string {
	_ = p.Process.Kill()
	<-p.done
	return p.out.String() + p.err.String()
}

func (p *started) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatalf("%v; it said:\n%s", err, p.said())
	}
}

// stop stops the program, until SIGCONT continues it.
func (p *started) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	until(t, "it has stopped", func() bool {
		is, err := procfs.NewProc(p.Process.Pid)
		iferr.Fatal(t, err)
		stat, err := is.Stat()
		iferr.Fatal(t, err)
		return stat.State == "T"
	})
}

// until waits for a condition. Some conditions look through all processes of the machine, so two thirds of the
// time are pauses.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		began := time.Now()
		if ok() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(max(5*time.Millisecond, 2*time.Since(began)))
	}
}

// trials counts the trials in a run file that is being written.
func trials(path string) int {
	text, _ := os.ReadFile(path)
	return bytes.Count(text, []byte("\n{\"type\":\"trial\""))
}

// read reads a run file.
func read(t *testing.T, path string) *record.File {
	t.Helper()
	file, err := record.ReadFile(path)
	if err != nil {
		t.Fatalf("the run file cannot be read: %v", err)
	}
	return file
}

// good reads a run file, and checks that it has trials, all of them good.
func good(t *testing.T, path string) *record.File {
	t.Helper()
	file := read(t, path)
	allGood(t, file)
	return file
}

// allGood checks that a run file has trials, all of them good.
func allGood(t *testing.T, file *record.File) {
	t.Helper()
	if len(file.Trials) == 0 {
		t.Fatal("there is no trial")
	}
	for _, trial := range file.Trials {
		if trial.Status != record.OK {
			t.Errorf("%s in round %d: %s: %s", trial.Cell.Key(), trial.Round, trial.Status, trial.Reason)
		}
	}
}

// killRuns kills every process of nettoll run.
func killRuns(t *testing.T) {
	t.Helper()
	for pid, args := range ours(t) {
		if strings.HasPrefix(args, "nettoll run ") {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// ours lists the processes that run the program under test, by PID.
func ours(t *testing.T) map[int]string {
	t.Helper()
	all := map[int]string{}
	processes, err := procfs.AllProcs()
	iferr.Fatal(t, err)
	for _, p := range processes {
		if exe, err := p.Executable(); err == nil && strings.HasPrefix(exe, filepath.Join(work, "bin")) {
			args, _ := p.CmdLine() // it may have ended
			all[p.PID] = strings.Join(args, " ")
		}
	}
	return all
}

// childrenOf lists the running children of a process.
func childrenOf(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, f := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(f)
			all = append(all, child)
		}
	}
	return all
}

// ourChild returns the child of a process that runs the program under test, or 0.
func ourChild(t *testing.T, pid int) int {
	t.Helper()
	for _, child := range childrenOf(pid) {
		if ours(t)[child] != "" {
			return child
		}
	}
	return 0
}

// inside returns the first process of the lab of p, or 0.
func inside(t *testing.T, p *started) int { return ourChild(t, p.Process.Pid) }

// within returns the program in the lab of p, which its first process has started, or 0.
func within(t *testing.T, p *started) int {
	t.Helper()
	if first := inside(t, p); first != 0 {
		return ourChild(t, first)
	}
	return 0
}

// namespaces returns the network namespaces that the matching links of processes lead to, each with one of the
// links.
func namespaces(patterns ...string) map[string]string {
	all := map[string]string{}
	for _, pattern := range patterns {
		links, _ := filepath.Glob(pattern)
		for _, link := range links {
			if name, err := os.Readlink(link); err == nil && strings.HasPrefix(name, "net:[") {
				all[name] = link
			}
		}
	}
	return all
}

// allNamespaces returns the network namespaces of all processes and threads, and those held by mounts or open
// files.
func allNamespaces() map[string]string {
	return namespaces("/proc/[0-9]*/ns/net", "/proc/[0-9]*/task/[0-9]*/ns/net", "/proc/[0-9]*/fd/*")
}

// devices returns the network devices of this machine.
func devices(t *testing.T) []string {
	t.Helper()
	all, err := net.Interfaces()
	iferr.Fatal(t, err)
	names := record.Each(all, func(d net.Interface) string { return d.Name })
	slices.Sort(names)
	return names
}

// leftovers compares this machine with its earlier state.
type leftovers struct {
	namespaces map[string]string
	devices    []string
	mounts     string
}

func before(t *testing.T) leftovers {
	t.Helper()
	return leftovers{allNamespaces(), devices(t), content(t, "/proc/self/mounts")}
}

// check waits until no process of nettoll is left, and then finds everything else that is left. Only namespaces
// that the program under test made count: others come and go, and the kernel reuses the numbers of those that have
// gone.
func (l leftovers) check(t *testing.T, made map[string]uint64) {
	t.Helper()
	until(t, "no process of nettoll is left", func() bool { return len(ours(t)) == 0 })
	until(t, "no namespace of nettoll's is left", func() bool {
		for name, link := range allNamespaces() {
			_, old := l.namespaces[name]
			if cookie, ours := made[name]; !old && ours && cookieOf(link) == cookie {
				return false
			}
		}
		return true
	})
	if got := devices(t); !slices.Equal(got, l.devices) {
		t.Errorf("devices of this machine are %v, were %v", got, l.devices)
	}
	if now, _ := os.ReadFile("/proc/self/mounts"); string(now) != l.mounts {
		t.Errorf("mounts of this machine are\n%s, were\n%s", now, l.mounts)
	}
}

// cookieOf returns the kernel's cookie of a network namespace, which is unique while the kernel runs, or 0 if the
// kernel does not report it or the namespace has gone.
func cookieOf(link string) (cookie uint64) {
	_ = netns.Do(link, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		return err
	})
	return cookie
}

// namespacesOf returns the current network namespaces of the program under test, with their cookies.
func namespacesOf(t *testing.T) map[string]uint64 {
	t.Helper()
	made := map[string]uint64{}
	host, _ := os.Readlink("/proc/self/ns/net")
	for pid := range ours(t) {
		for name, link := range namespaces(fmt.Sprintf("/proc/%d/task/*/ns/net", pid), fmt.Sprintf("/proc/%d/fd/*", pid)) {
			if name != host {
				made[name] = cookieOf(link)
			}
		}
	}
	return made
}
