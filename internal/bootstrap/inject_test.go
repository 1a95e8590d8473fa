package bootstrap_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/bootstrap"
	"nettoll/internal/nsexec"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/sampler"
)

// own is the test program, as an agent.
var own = sync.OnceValues(func() (*bootstrap.Program, error) { return bootstrap.Pack("/proc/self/exe") })

func find(string) (*bootstrap.Program, error) { return own() }

// shell starts sh with what a login shell does before it, and the script in the folders given.
func shell(t *testing.T, before, mark, places string) platform.Process {
	t.Helper()
	p, err := nsexec.Start(t.Context(), "there", "", os.Environ(), platform.Command{
		Path: "sh", Args: []string{"-c", before + "\nexec sh -c '" + bootstrap.ScriptIn(mark, places) + "'"},
	})
	iferr.Fatal(t, err)
	return p
}

// works checks that an agent answers, from a program without a name, and that it ends with its input.
func works(t *testing.T, p platform.Process, dir string) {
	t.Helper()
	c := agent.Dial(p)
	var o sampler.Origin
	if err := c.Call(t.Context(), sampler.MethodOrigin, nil, &o); err != nil || o.Boot == "" {
		t.Errorf("origin %+v, %v", o, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("while the agent runs there are %v, %v", left, err)
	}
	own, err := os.ReadFile("/proc/self/status")
	theirs, theirErr := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil || theirErr != nil || umask(own) != umask(theirs) {
		t.Errorf("the agent has %q, want %q: %v, %v", umask(theirs), umask(own), err, theirErr)
	}
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/9", p.PID()))
	if err != nil || len(open) > 0 {
		t.Errorf("the agent keeps %v, %v", open, err)
	}
	iferr.Error(t, c.Close())
}

// umask returns the line of a process's status that has its umask.
func umask(status []byte) string {
	_, after, _ := strings.Cut(string(status), "Umask:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

func TestInject(t *testing.T) {
	for name, before := range map[string]string{
		"plain":                "",
		"a banner":             "echo Welcome to this machine; echo nettoll-0000 machine vax",
		"a banner without end": "printf 'You have mail'",
		"a long banner":        "head -c 100000 /dev/zero | tr '\\0' x",
		"messages":             "echo stty: standard input: not a tty >&2",
	} {
		t.Run(name, func(t *testing.T) {
			dir, mark := t.TempDir(), bootstrap.Mark()
			p, err := bootstrap.Inject(t.Context(), shell(t, before, mark, "/nonexistent "+dir), mark, find)
			iferr.Fatal(t, err)
			works(t, p, dir)
		})
	}
}

// TestShells runs the script in every shell that is here. Login shells only pass it on.
func TestShells(t *testing.T) {
	for _, sh := range []string{"dash", "bash", "busybox"} {
		path, err := exec.LookPath(sh)
		if err != nil {
			continue
		}
		dir, mark := t.TempDir(), bootstrap.Mark()
		args := []string{"-c", bootstrap.ScriptIn(mark, dir)}
		if sh == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		p, err := nsexec.Start(t.Context(), sh, "", os.Environ(), platform.Command{Path: path, Args: args})
		iferr.Fatal(t, err)
		if p, err = bootstrap.Inject(t.Context(), p, mark, find); err != nil {
			t.Errorf("%s: %v", sh, err)
			continue
		}
		works(t, p, dir)
	}
}

// TestCut has a connection that ends while the program is sent, in every shell that is here: nothing is left.
func TestCut(t *testing.T) {
	for _, sh := range []string{"dash", "bash", "busybox"} {
		path, err := exec.LookPath(sh)
		if err != nil {
			continue
		}
		first, second := t.TempDir(), t.TempDir()
		args := []string{"-c", bootstrap.ScriptIn("mark", first+" "+second)}
		if sh == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		p, err := nsexec.Start(t.Context(), sh, "", os.Environ(), platform.Command{Path: path, Args: args})
		iferr.Fatal(t, err)
		out := bufio.NewReader(p.Stdout())
		for line := ""; line != "mark send\n"; {
			if line, err = out.ReadString('\n'); err != nil {
				t.Fatalf("%s: %v; %s", sh, err, p.Stderr())
			}
		}
		if _, err := io.WriteString(p.Stdin(), "1000000 sum\nno program"); err != nil {
			t.Error(err)
		}
		iferr.Error(t, errors.Join(p.Stdout().(io.Closer).Close(), p.Stdin().Close()))
		_ = p.Wait() // it has failed
		for _, dir := range []string{first, second} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s: left %v, %v", sh, left, err)
			}
		}
	}
}

// mount mounts a tmpfs of the lab.
func mount(t *testing.T, flags uintptr, data string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, data); errors.Is(err, unix.EPERM) {
		t.Skip(err)
	} else {
		iferr.Fatal(t, err)
	}
	t.Cleanup(func() { iferr.Error(t, unix.Unmount(dir, 0)) })
	return dir
}

// TestPlaces has folders that do not take the program: the next one is used, and if there is none, each is named
// with the reason.
func TestPlaces(t *testing.T) {
	noExec, full := mount(t, unix.MS_NOEXEC, ""), mount(t, 0, "size=1m")
	dir, mark := t.TempDir(), bootstrap.Mark()
	p, err := bootstrap.Inject(t.Context(), shell(t, "", mark, noExec+" "+full+" "+dir), mark, find)
	iferr.Fatal(t, err)
	works(t, p, dir)
	mark = bootstrap.Mark()
	_, err = bootstrap.Inject(t.Context(), shell(t, "", mark, "/nonexistent "+full+" "+noExec), mark, find)
	refused(t, err, "no folder takes the agent: /nonexistent cannot be written to, "+full+" has no room, "+noExec+" does not let programs run; make room")
	for _, dir := range []string{noExec, full} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", dir, left, err)
		}
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v\nwant   %s", err, want)
	}
}

func TestRefusals(t *testing.T) {
	// without makes a folder of programs that lacks some.
	without := func(lacks string, more ...string) string {
		dir := t.TempDir()
		for _, name := range []string{"sh", "head", "gzip", "sha256sum", "mktemp", "chmod", "rm", "cat", "uname"} {
			path, err := exec.LookPath(name)
			iferr.Fatal(t, err)
			if name != lacks {
				iferr.Fatal(t, os.Symlink(path, filepath.Join(dir, name)))
			}
		}
		for i := 0; i < len(more); i += 2 {
			iferr.Fatal(t, os.WriteFile(filepath.Join(dir, more[i]), []byte("#!/bin/sh\n"+more[i+1]+"\n"), 0o755))
		}
		return "PATH=" + dir
	}
	for name, c := range map[string]struct{ before, want string }{
		"no gzip":        {without("gzip"), "there is no program gzip"},
		"no sha256sum":   {without("sha256sum"), "there is no program sha256sum"},
		"another CPU":    {without("uname", "uname", "echo s390x"), "no agent for s390x"},
		"garbled":        {without("gzip", "gzip", "cat"), "did not arrive as it was sent"},
		"a login fails":  {"echo This account is not available. >&2; exit 1", "This account is not available."},
		"ends early":     {"exit 0", "the shell ended without an answer"},
		"prints for now": {"yes", "the login shell printed 1024 kB"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.before != "yes" { // all others end by themselves, if late on a busy machine
				defer bootstrap.SetTidy(time.Minute)()
			}
			dir, mark := t.TempDir(), bootstrap.Mark()
			_, err := bootstrap.Inject(t.Context(), shell(t, c.before, mark, dir), mark, func(kind string) (*bootstrap.Program, error) {
				if kind == "s390x" {
					return nil, errors.New("no agent for s390x")
				}
				return own()
			})
			refused(t, err, c.want)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// TestKinds checks for which architecture the agent of a machine is looked for.
func TestKinds(t *testing.T) {
	all := bootstrap.Agents{File: func(arch string) (string, error) {
		if arch == "amd64" {
			return "/proc/self/exe", nil
		}
		return "", errors.New("none for " + arch)
	}}
	_, err := all.For("vax")
	refused(t, err, `it is a machine of kind "vax", for which there is no agent`)
	_, err = all.For("aarch64")
	refused(t, err, "it is a machine of kind aarch64: none for arm64")
	a, err := all.For("x86_64")
	iferr.Fatal(t, err)
	if b, err := all.For("x86_64"); b != a || err != nil {
		t.Errorf("packed again: %v", err)
	}
}

func TestStill(t *testing.T) {
	defer bootstrap.SetStill(100 * time.Millisecond)()
	mark := bootstrap.Mark()
	_, err := bootstrap.Inject(t.Context(), shell(t, "exec sleep 3600", mark, "/tmp"), mark, find)
	refused(t, err, "nothing has come or could be sent for 100ms")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	mark := bootstrap.Mark()
	p := shell(t, "exec sleep 3600", mark, "/tmp")
	cancel(errors.New("by the user"))
	_, err := bootstrap.Inject(ctx, p, mark, find)
	refused(t, err, "by the user")
}

// TestSilence has an agent whose caller falls silent without closing the connection, as when the caller's machine has
// gone: the agent ends. It lives as long as its caller calls.
func TestSilence(t *testing.T) {
	// A busy machine can delay a call by more than a short silence.
	for silence := 300 * time.Millisecond; !lives(t, silence); silence *= 4 {
		if silence > 10*time.Second {
			t.Fatal("it ends though it is called")
		}
	}
}

// TestWatchedArguments checks that an agent's silence is passed on, and that nothing else is taken for it.
func TestWatchedArguments(t *testing.T) {
	if silence, ok := bootstrap.IsWatched(bootstrap.Watched(bootstrap.Silence)); !ok || silence != bootstrap.Silence {
		t.Errorf("%v, %v", silence, ok)
	}
	for _, args := range [][]string{nil, {"agent"}, {"agent", "watched"}, {"agent", "watched", "0s"}, {"agent", "watched", "soon"}, {"agent", "injected", "30s"}} {
		if _, ok := bootstrap.IsWatched(args); ok {
			t.Errorf("%q", args)
		}
	}
}

// lives reports whether an agent that ends by the given silence lives as long as it is called, and checks that it ends then.
func lives(t *testing.T, silence time.Duration) bool {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	defer inW.Close()
	ended := make(chan error, 1)
	running := make(chan struct{})
	handlers := func(ctx context.Context) map[string]agent.Handler {
		context.AfterFunc(ctx, func() { close(running) })
		return map[string]agent.Handler{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		ended <- bootstrap.WatchIn(silence, inR, outW, handlers, func() {})
		cancel()
	}()
	c := agent.Dial(&pipes{in: inW, out: outR})
	for range 4 {
		if err := c.Call(ctx, bootstrap.MethodAlive, struct{}{}, nil); err != nil {
			return false
		}
		time.Sleep(silence / 3)
	}
	select {
	case err := <-ended:
		refused(t, err, fmt.Sprintf("nothing has come for %v", silence))
	case <-time.After(silence + time.Minute):
		t.Fatal("it goes on")
	}
	<-running
	outW.Close()
	return true
}

// pipes are an agent within this process.
type pipes struct {
	platform.Process
	in  io.WriteCloser
	out io.Reader
}

func (p *pipes) Stdin() io.WriteCloser { return p.in }
func (p *pipes) Stdout() io.Reader     { return p.out }
func (p *pipes) Stderr() string        { return "" }
func (p *pipes) Wait() error           { return nil }
func (p *pipes) Kill() error           { return nil }

// TestScript checks that login shells of any kind pass the script on as it is.
func TestScript(t *testing.T) {
	if s := bootstrap.Script("mark"); strings.ContainsAny(s, "'\\!\n") {
		t.Errorf("the script has characters that mean something to shells: %s", s)
	}
}
