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

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
)

// patience bounds every wait; it is no expectation.
const patience = 60 * time.Second

// started is nettoll at work, with what it says so far.
type started struct {
	*exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
}

// start starts nettoll in the folder. Whatever the test itself was started to
// ignore, nettoll is not.
func start(t *testing.T, dir string, args ...string) *started {
	t.Helper()
	return startProgram(t, dir, "nettoll", args...)
}

func startProgram(t *testing.T, dir, program string, args ...string) *started {
	t.Helper()
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	p := &started{Cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = dir, &p.out, &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Wait(); close(p.done) }()
	t.Cleanup(func() { _ = p.Process.Kill(); <-p.done })
	return p
}

// status waits for the end and gives the exit status.
func (p *started) status(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("nettoll did not end; it said:\n%s", p.said())
	}
	return p.ProcessState.ExitCode()
}

func (p *started) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// said is all that nettoll said; only once it has ended.
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

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// trials counts the trials in a run file that is being written.
func trials(path string) int {
	text, _ := os.ReadFile(path)
	return bytes.Count(text, []byte("\n{\"type\":\"trial\""))
}

// ours lists the processes that run the program under test, by PID.
func ours(t *testing.T) map[int]string {
	t.Helper()
	all := map[int]string{}
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(exe, filepath.Join(work, "bin")) {
			continue
		}
		dir := filepath.Dir(link)
		pid, _ := strconv.Atoi(filepath.Base(dir))
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		all[pid] = strings.ReplaceAll(string(args), "\x00", " ")
	}
	return all
}

// childrenOf lists the processes that a process started and that live.
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

// inside is the first process of the lab of p, or 0.
func inside(t *testing.T, p *started) int {
	t.Helper()
	for _, child := range childrenOf(p.Process.Pid) {
		if ours(t)[child] != "" {
			return child
		}
	}
	return 0
}

// within is the program in the lab of p, which its first process has started, or 0.
func within(t *testing.T, p *started) int {
	t.Helper()
	if first := inside(t, p); first != 0 {
		for _, child := range childrenOf(first) {
			if ours(t)[child] != "" {
				return child
			}
		}
	}
	return 0
}

// namespaces are the network namespaces that a process is in, a mount or an open
// file holds of a process, by what names them.
func namespaces(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"/proc/[0-9]*/ns/net", "/proc/[0-9]*/task/[0-9]*/ns/net", "/proc/[0-9]*/fd/*"} {
		links, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if name, err := os.Readlink(link); err == nil && strings.HasPrefix(name, "net:[") {
				all[name] = link
			}
		}
	}
	return all
}

// devices are the network devices of this machine.
func devices(t *testing.T) []string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names
}

// leftovers compares this machine with what it was.
type leftovers struct {
	namespaces map[string]string
	devices    []string
	mounts     string
}

func before(t *testing.T) leftovers {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return leftovers{namespaces(t), devices(t), string(mounts)}
}

// check waits until no process of nettoll is left, and then finds what else is.
// A namespace counts when the program under test made it: others come and go, and the kernel gives
// them the numbers of those that have gone.
func (l leftovers) check(t *testing.T, made map[string]uint64) {
	t.Helper()
	until(t, "no process of nettoll is left", func() bool { return len(ours(t)) == 0 })
	until(t, "no namespace of nettoll's is left", func() bool {
		for name, link := range namespaces(t) {
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

// cookieOf is what the kernel tells a network namespace apart by, for as long as it runs; 0 where
// it does not tell, or the namespace has gone.
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

// namespacesOf are the network namespaces of the program under test right now.
func namespacesOf(t *testing.T, into map[string]uint64) {
	t.Helper()
	host, _ := os.Readlink("/proc/self/ns/net")
	for pid := range ours(t) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/ns/net", pid))
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range append(links, fds...) {
			if name, err := os.Readlink(link); err == nil && strings.HasPrefix(name, "net:[") && name != host {
				into[name] = cookieOf(link)
			}
		}
	}
}
