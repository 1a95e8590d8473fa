package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
)

// console is a pseudo-terminal with a program that leads its session.
type console struct {
	*started
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
}

func openConsole(t *testing.T, dir string, env []string, program string, args ...string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	}
	iferr.Fatal(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	iferr.Fatal(t, err)
	defer slave.Close()
	c := &console{started: &started{Cmd: exec.Command(program, args...)}, master: master}
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, slave, slave, slave
	c.Env = append(append(os.Environ(), "SHELL=/bin/sh", "PS1=$ ", "TERM=xterm", "ENV="), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.begin(t)
	go c.watch()
	t.Cleanup(func() { _ = c.Process.Kill(); <-c.done })
	return c
}

func (c *console) watch() {
	b := make([]byte, 4096)
	for {
		n, err := c.master.Read(b)
		c.mu.Lock()
		c.shown.Write(b[:n])
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.String()
}

func (c *console) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// see waits for a text, and discards the output up to its end.
func (c *console) see(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		_, rest, found := strings.Cut(c.shown.String(), text)
		if found {
			c.shown.Reset()
			c.shown.WriteString(rest)
		}
		c.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %q; the screen shows %q", text, c.screen())
		}
	}
}

const ctrlC, ctrlZ = "\x03", "\x1a"

// TestTerminalRun watches a run at a terminal, tries to stop it, and ends it.
func TestTerminalRun(t *testing.T) {
	for _, setting := range []string{"-tostop", "tostop"} {
		t.Run(setting, func(t *testing.T) {
			dir, was := t.TempDir(), before(t)
			path := filepath.Join(dir, "x.ndjson")
			c := openConsole(t, dir, nil, "sh", append([]string{"-c", `stty ` + setting + `; exec nettoll "$@"`, "sh"}, endless...)...)
			until(t, "two trials are in the run file", func() bool { return trials(path) >= 2 })
			c.see(t, "round 1")
			c.press(t, ctrlZ)
			more := trials(path) + 4
			until(t, "the run goes on", func() bool { return trials(path) >= more })
			c.press(t, ctrlC)
			if status := c.status(t); status != exitInterrupted {
				t.Errorf("exit status %d; the screen shows %q", status, c.screen())
			}
			c.see(t, "tcp_rr by engine")
			c.see(t, "report:   x.html")
			was.check(t, nil)
		})
	}
}

// TestTerminalShell uses a lab's shell interactively.
func TestTerminalShell(t *testing.T) {
	was := before(t)
	c := openConsole(t, t.TempDir(), nil, "sh", "-i")
	c.press(t, "nettoll lab bridge\n")
	c.see(t, "You are in h1c2.")
	c.see(t, "$ ")
	c.press(t, "sh -c 'echo be''gun; exec sleep 1000'\n")
	c.see(t, "begun")
	c.press(t, ctrlC)
	c.press(t, "echo status $? of $NETTOLL_SERVER\n")
	c.see(t, "status 130 of 198.")
	c.press(t, "sleep 1000\n")
	until(t, "it sleeps", func() bool { return running(t, "sleep") })
	c.press(t, ctrlZ)
	c.see(t, "Stopped")
	c.press(t, "bg; jobs\n")
	c.see(t, "Running")
	c.press(t, "kill %1; exit 4\n")
	c.see(t, "$ ")
	c.press(t, "echo status $?\n")
	c.see(t, "status 4")
	until(t, "no process of nettoll is left", func() bool { return len(ours(t)) == 0 })

	// The outer shell has its terminal again.
	c.press(t, "sleep 1000\n")
	until(t, "it sleeps", func() bool { return running(t, "sleep") })
	c.press(t, ctrlC)
	c.press(t, "echo status $?; exit 5\n")
	c.see(t, "status 130")
	if status := c.status(t); status != 5 {
		t.Errorf("exit status %d", status)
	}
	was.check(t, nil)
}

// running finds a program in the folder of this test.
func running(t *testing.T, program string) bool {
	t.Helper()
	processes, _ := procfs.AllProcs()
	return slices.ContainsFunc(processes, func(p procfs.Proc) bool {
		name, _ := p.Comm() // it may have ended
		dir, _ := p.Cwd()
		return name == program && strings.Contains(dir, t.Name())
	})
}

// TestTerminalColor checks for colours on a capable terminal, unless NO_COLOR is set.
func TestTerminalColor(t *testing.T) {
	wants := map[string]bool{"NO_COLOR=": true, "NO_COLOR=1": false, "TERM=dumb": false}
	consoles := map[string]*console{}
	for env := range wants {
		consoles[env] = openConsole(t, t.TempDir(), []string{env}, "sh", "-c", "nettoll doctor; echo e''nd")
	}
	for env, c := range consoles {
		until(t, "it has ended", func() bool { return strings.Contains(c.screen(), "end") })
		if got, want := strings.Contains(c.screen(), "\x1b["), wants[env]; got != want {
			t.Errorf("%s: escape codes %v, want %v in %q", env, got, want, c.screen())
		}
	}
}
