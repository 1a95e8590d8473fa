package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nettoll/agent"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/scratch"
	"nettoll/platform"
)

// built is the program as make builds it, plain as "go build" does.
var built, plain string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, remove, err := scratch.Dir("nettoll-tests-agent")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	built, plain = filepath.Join(dir, "nettoll-agent"), filepath.Join(dir, "plain")
	asMake := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built, ".")
	asMake.Env = append(os.Environ(), "CGO_ENABLED=0")
	asUsers := exec.Command("go", "build", "-o", plain, ".")
	asUsers.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=")
	for _, build := range []*exec.Cmd{asMake, asUsers} {
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build nettoll-agent: %v: %s\n", err, out)
			return 1
		}
	}
	return m.Run()
}

// process is a started agent.
type process struct {
	platform.Process
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
	err bytes.Buffer
}

func (p *process) Stdin() io.WriteCloser { return p.in }
func (p *process) Stdout() io.Reader     { return p.out }
func (p *process) Stderr() string        { return p.err.String() }
func (p *process) Wait() error           { return p.cmd.Wait() }
func (p *process) Kill() error           { return p.cmd.Process.Kill() }

func start(t *testing.T, program string, args ...string) (*agent.Client, *process) {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...)}
	p.cmd.Stderr = &p.err
	var err error
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		p.out, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	iferr.Fatal(t, err)
	return agent.Dial(p), p
}

// answers checks that an agent answers, by a request that it does not know.
func answers(t *testing.T, c *agent.Client) {
	t.Helper()
	if err := c.Call(t.Context(), "no.such", nil, nil); err == nil || !strings.Contains(err.Error(), `unknown method "no.such"`) {
		t.Errorf("it answers %v", err)
	}
}

func TestServes(t *testing.T) {
	for _, args := range [][]string{nil, {"agent"}} {
		c, p := start(t, built, args...)
		answers(t, c)
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			iferr.Fatal(t, p.cmd.Process.Signal(s))
		}
		answers(t, c)
		if err := c.Close(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestSays(t *testing.T) {
	for _, c := range []struct {
		args     []string
		terminal bool
		status   int
		out, err string
	}{
		{[]string{"--version"}, true, exitOK, "nettoll-agent ", ""},
		{[]string{"agent"}, true, exitUsage, "", "nettoll-agent: nettoll starts the agent by itself; it is not meant to be run by hand\n"},
		{[]string{"run", "x"}, false, exitUsage, "", `nettoll-agent: no such arguments: ["run" "x"]; it takes none, or agent, or --version` + "\n"},
		{nil, false, exitFailure, "", "nettoll-agent: agent: read frame: "},
	} {
		var out, err strings.Builder
		status := run(c.args, c.terminal, strings.NewReader("GET / HTTP/1.1\r\n"), &out, &err)
		if status != c.status || !strings.HasPrefix(out.String(), c.out) || !strings.HasPrefix(err.String(), c.err) ||
			strings.Count(out.String()+err.String(), "\n") != 1 {
			t.Errorf("%q: status %d, says %q and %q", c.args, status, out.String(), err.String())
		}
	}
	var err strings.Builder
	full := errors.New("full")
	if status := run([]string{"--version"}, false, nil, writer(func([]byte) (int, error) { return 0, full }), &err); status != exitFailure {
		t.Errorf("status %d, says %q", status, err.String())
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestImage checks that an image without further programs is small, however the agent was built.
func TestImage(t *testing.T) {
	for file, most := range map[string]int{
		built: 10 << 20,
		// It carries symbols and DWARF, and the libraries that a build with cgo loads.
		plain: 20 << 20,
	} {
		m, err := rootfs.New(rootfs.Program{File: file, Path: rootfs.AgentPath})
		iferr.Fatal(t, err)
		var image bytes.Buffer
		if err := m.Stream(&image); err != nil || image.Len() > most {
			t.Errorf("the image of %s has %d bytes: %v", filepath.Base(file), image.Len(), err)
		}
		t.Logf("%s: %d bytes", filepath.Base(file), image.Len())
	}
}
