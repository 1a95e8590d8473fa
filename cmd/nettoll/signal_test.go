package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

// endless is a run that ends only when it is interrupted.
var endless = []string{
	"run", "bridge", "--hosts", "1", "--workloads", "tcp_rr", "--placement", "free",
	"-t", "50ms", "--warmup", "50ms", "--max-rounds", "10000", "--time-budget", "0", "--yes", "--precision", "0.01%", "-o", "x.ndjson",
}

// TestSignals interrupts a run in the middle: its trials are reported and kept.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			dir, was := t.TempDir(), before(t)
			path := filepath.Join(dir, "x.ndjson")
			p := start(t, dir, endless...)
			until(t, "three trials are in the run file", func() bool { return trials(path) >= 3 })
			made := namespacesOf(t)
			if len(made) == 0 {
				t.Error("no namespace of the run is found")
			}
			all := []syscall.Signal{s}
			if s == syscall.SIGINT { // some programs send two signals that mean one: it gets both at the same moment
				p.stop(t)
				all = append(all, syscall.SIGTERM, syscall.SIGCONT)
			}
			for _, one := range all {
				p.signal(t, one)
			}
			p.ends(t, exitInterrupted)
			if !strings.Contains(p.out.String(), "tcp_rr by engine") {
				t.Errorf("no report: %s", p.said())
			}
			file := good(t, path)
			if n := len(file.Ends); n != 1 || file.Ends[0].Reason != record.EndInterrupted || file.Truncated != 0 {
				t.Errorf("ends are %+v, %d bytes are too many", file.Ends, file.Truncated)
			}
			if left := names(t, dir); len(left) != 2 { // the run file and its page
				t.Errorf("files are %v", left)
			}
			was.check(t, made)
		})
	}
}

// TestSecondSignal ends a lab that does not react to the first signal, with different pairs of signals. Either the
// program in it is stopped, or its first process, which passes signals on.
func TestSecondSignal(t *testing.T) {
	for s, deaf := range map[[2]syscall.Signal]func(*testing.T, *started) int{
		{syscall.SIGINT, syscall.SIGINT}: within, {syscall.SIGINT, syscall.SIGTERM}: within, {syscall.SIGTERM, syscall.SIGHUP}: inside,
	} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			was := before(t)
			p := start(t, t.TempDir(), "lab", "bridge", "--", "sleep", "1000")
			until(t, "the lab is there", func() bool { pid := within(t, p); return pid != 0 && len(childrenOf(pid)) > 0 })
			iferr.Fatal(t, syscall.Kill(deaf(t, p), syscall.SIGSTOP))
			made := namespacesOf(t)
			p.signal(t, s[0])
			until(t, "it has ended", func() bool {
				_ = p.Process.Signal(s[1])
				return p.ended()
			})
			p.ends(t, exitInterrupted)
			if got := p.err.String(); got != "nettoll: interrupted twice: ended at once\n" {
				t.Errorf("it said %q", got)
			}
			was.check(t, made)
		})
	}
}

// TestSecondSignalOutside ends a command outside a lab that does not react to the first signal.
func TestSecondSignalOutside(t *testing.T) {
	dir := t.TempDir()
	slow, asked := filepath.Join(dir, "slow"), filepath.Join(dir, "asked")
	iferr.Fatal(t, os.WriteFile(slow, []byte("#!/bin/sh\necho $$ >"+asked+".part\nmv "+asked+".part "+asked+"\nexec sleep 1000\n"), 0o755))
	p := start(t, dir, "run", "veth", "--tool", "iperf3|engine", "--workloads", "tcp_stream", "--tool-path", "iperf3="+slow, "--dry-run")
	until(t, "the program is asked for its version", func() bool { _, err := os.Stat(asked); return err == nil })
	p.signal(t, syscall.SIGINT)
	until(t, "it has ended", func() bool {
		_ = p.Process.Signal(syscall.SIGTERM)
		return p.ended()
	})
	if how := p.ProcessState.Sys().(syscall.WaitStatus); !how.Signaled() || how.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v and said:\n%s", p.ProcessState, p.said())
	}
	text, err := os.ReadFile(asked)
	iferr.Fatal(t, err)
	until(t, "the program has ended, too", func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(text)))
		return err != nil
	})
}

// TestReportEnds ends a report at the first signal, whatever it waits for.
func TestReportEnds(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	iferr.Fatal(t, syscall.Mkfifo(pipe, 0o600))
	file, err := filepath.Abs("../../report/testdata/specimen.ndjson")
	iferr.Fatal(t, err)
	ends := func(p *started, s syscall.Signal) {
		t.Helper()
		p.signal(t, s)
		if status := p.status(t); status != exitInterrupted || p.err.String() != "nettoll: interrupted\n" {
			t.Errorf("%v: exit status %d; it said:\n%s", s, status, p.said())
		}
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		p := start(t, dir, "report", pipe)
		w := -1
		until(t, "it waits for a run file", func() (opened bool) {
			var err error
			w, err = syscall.Open(pipe, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
			return err == nil
		})
		ends(p, s)
		_ = syscall.Close(w)

		r, err := syscall.Open(pipe, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
		iferr.Fatal(t, err)
		if _, err := unix.FcntlInt(uintptr(r), unix.F_SETPIPE_SZ, 4096); err != nil {
			t.Fatal(err)
		}
		p = start(t, dir, "report", file, "--format", "html", "-o", pipe)
		until(t, "it waits for a reader", func() bool {
			n, err := unix.IoctlGetInt(r, unix.TIOCINQ)
			return err == nil && n > 0
		})
		ends(p, s)
		_ = syscall.Close(r)
	}
	for _, args := range [][]string{{"--resume", pipe}, {"--resume", "/dev/null"}} {
		p := start(t, dir, append([]string{"run"}, args...)...)
		if status := p.status(t); status != exitUsage || !strings.Contains(p.err.String(), "only a regular file can be resumed") {
			t.Errorf("%v: exit status %d; it said:\n%s", args, status, p.said())
		}
	}
	if left := names(t, dir); len(left) != 1 {
		t.Errorf("files are %v", left)
	}
}

// TestInterruptedEarly interrupts commands before there is anything to report.
func TestInterruptedEarly(t *testing.T) {
	for _, args := range [][]string{{"lab", "bridge", "--", "sleep", "1000"}, {"doctor"}} {
		was := before(t)
		p := start(t, t.TempDir(), args...)
		until(t, "the process inside is there", func() bool { return inside(t, p) != 0 || p.ended() })
		_ = p.Process.Signal(syscall.SIGINT)
		status := p.status(t)
		if text := p.err.String(); strings.Count(text, "\n") > 1 || strings.Contains(text, "context canceled") {
			t.Errorf("%s said %q", args[0], text)
		}
		if status != exitInterrupted && !(args[0] == "doctor" && status == exitOK) {
			t.Errorf("%s: exit status %d; it said:\n%s", args[0], status, p.said())
		}
		was.check(t, nil)
	}
}

// TestInterruptedCommand ends a command in a lab: the status is that of an interrupt, not of the command.
func TestInterruptedCommand(t *testing.T) {
	p := start(t, t.TempDir(), "lab", "bridge", "--", "sleep", "1000")
	until(t, "the command runs", func() bool {
		pid := within(t, p)
		return pid != 0 && len(childrenOf(pid)) > 0
	})
	p.signal(t, syscall.SIGINT)
	if status := p.status(t); status != exitInterrupted || p.err.String() != "nettoll: interrupted\n" {
		t.Errorf("exit status %d; it said:\n%s", status, p.said())
	}
}

// TestInterruptedWhileBuilding interrupts a run while thousands of containers and rules are made: it must not wait
// for them.
func TestInterruptedWhileBuilding(t *testing.T) {
	many := []string{
		"run", "bridge", "--hosts", "1", "--neighbours", "1500", "--rules", "2000", "--workloads", "tcp_rr",
		"-t", "50ms", "--baseline", "bridge-nonf", "-o", "x.ndjson", "bridge-nonf",
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		was := before(t)
		p := start(t, t.TempDir(), many...)
		until(t, "hundreds of containers are there", func() bool {
			pid := within(t, p)
			return p.ended() || pid != 0 && len(namespaces(fmt.Sprintf("/proc/%d/fd/*", pid))) > 300
		})
		made := namespacesOf(t)
		p.signal(t, s)
		p.ends(t, exitInterrupted)
		if said := p.err.String(); strings.Contains(said, "context canceled") || strings.Contains(said, "goroutine") {
			t.Errorf("%s: it said %s", s, said)
		}
		was.check(t, made)
	}
}

// TestNohup checks that a run continues if it was started to ignore the end of the terminal.
func TestNohup(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ndjson")
	p := startProgram(t, dir, "nohup", append([]string{"nettoll"}, endless...)...)
	until(t, "a trial is in the run file", func() bool { return trials(path) >= 1 })
	p.signal(t, syscall.SIGHUP)
	more := trials(path) + 4
	until(t, "the run goes on", func() bool { return trials(path) >= more || p.ended() })
	if p.ended() {
		t.Fatalf("the run has ended; it said:\n%s", p.said())
	}
	p.signal(t, syscall.SIGTERM)
	p.ends(t, exitInterrupted)
}

// TestTwoWriters checks that a second process cannot write to a run file that is being written.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.ndjson")
	p := start(t, dir, endless...)
	until(t, "a trial is in the run file", func() bool { return trials(path) >= 1 })
	second := start(t, dir, "run", "--resume", "x.ndjson", "--yes")
	second.ends(t, exitFailure)
	if got := second.err.String(); got != "nettoll: x.ndjson: another process is writing this run file\n" {
		t.Errorf("it said %q", got)
	}
	if p.ended() {
		t.Errorf("the first has ended; it said:\n%s", p.said())
	}
	p.signal(t, syscall.SIGTERM)
	p.status(t)
	file, err := record.ReadFile(path)
	if err != nil || len(file.Resumes) > 0 {
		t.Errorf("%d resumes, %v", len(file.Resumes), err)
	}
}
