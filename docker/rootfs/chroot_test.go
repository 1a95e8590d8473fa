package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/agent"
	"nettoll/internal/nl"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
)

// versions are programs and the flags that print their versions.
var versions = []struct{ name, flag string }{
	{"iperf", "-v"}, {"iperf3", "--version"}, {"netperf", "-V"}, {"netserver", "-V"}, {"nuttcp", "-V"},
	{"qperf", "--version"}, {"redis-server", "--version"}, {"sockperf", "--version"}, {"wrk", "-v"},
}

// tool returns a program at the place where tools look it up by its name.
func tool(name, file string) Program { return Program{File: file, Path: "/usr/bin/" + name} }

// here returns the file of a program if this machine has it. Programs named in NETTOLL_REQUIRE must be
// there.
func here(t *testing.T, name string) (file string, ok bool) {
	t.Helper()
	file, err := exec.LookPath(name)
	if err != nil && slices.Contains(strings.Split(os.Getenv("NETTOLL_REQUIRE"), ","), name) {
		t.Fatal(err)
	}
	return file, err == nil
}

// unpack writes an image into a new folder, and returns its path.
func unpack(t *testing.T, m *Image) string {
	t.Helper()
	root := t.TempDir()
	r := tar.NewReader(bytes.NewReader(stream(t, m)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		iferr.Fatal(t, err)
		name := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			iferr.Fatal(t, os.Mkdir(name, 0o755))
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(name, b, h.FileInfo().Mode())
		}
		iferr.Fatal(t, err)
	}
}

// container unpacks an image, mounts what a runtime would, and returns its folder.
func container(t *testing.T, m *Image) string {
	t.Helper()
	root := unpack(t, m)
	for source, kind := range map[string]string{"/dev": "", "proc": "proc"} {
		at, flags := filepath.Join(root, path.Base(source)), uintptr(0)
		if kind == "" {
			flags = unix.MS_BIND | unix.MS_REC
		}
		if err := unix.Mount(source, at, kind, flags, ""); err != nil {
			t.Fatalf("mount %s: %v", at, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
				t.Errorf("unmount %s: %v", at, err)
			}
		})
	}
	return root
}

// inside returns a command with root as its root directory.
func inside(ctx context.Context, root, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = "/", []string{"LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	return cmd
}

// TestProgramsRun asks every program for its version in an environment that contains only the image, and
// compares the output with that outside.
func TestProgramsRun(t *testing.T) {
	programs := []Program{self(t, AgentPath)}
	flags := map[string]string{AgentPath: "--version"}
	for _, v := range versions {
		if file, ok := here(t, v.name); ok {
			p := tool(v.name, file)
			programs, flags[p.Path] = append(programs, p), v.flag
		}
	}
	root := container(t, image(t, programs...))
	for _, p := range programs {
		got, err := inside(t.Context(), root, p.Path, flags[p.Path]).CombinedOutput()
		outside := exec.Command(p.File, flags[p.Path])
		outside.Env = []string{"LC_ALL=C"}
		want, wantErr := outside.CombinedOutput()
		if len(want) == 0 {
			t.Errorf("%s %s says nothing", p.File, flags[p.Path])
		}
		if !bytes.Equal(firstLine(got), firstLine(want)) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s says %q, %v; outside %q, %v", p.Path, got, err, want, wantErr)
		}
	}
	t.Logf("of %d programs", len(programs))
}

// firstLine returns the line with the version; later lines contain the date, or the process.
func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return line
}

// TestAgentAnswers runs an agent inside an image.
func TestAgentAnswers(t *testing.T) {
	root := container(t, image(t, self(t, AgentPath)))
	cmd := inside(t.Context(), root, AgentPath, "agent")
	stdin, err := cmd.StdinPipe()
	iferr.Fatal(t, err)
	stdout, err := cmd.StdoutPipe()
	iferr.Fatal(t, err)
	iferr.Fatal(t, cmd.Start())
	c := agent.Dial(&process{cmd: cmd, in: stdin, out: stdout})
	if err := c.Call(t.Context(), "no.such", nil, nil); err == nil || !strings.Contains(err.Error(), "no.such") {
		t.Errorf("asked for what it has not, it says %v", err)
	}
	iferr.Error(t, c.Close())
}

// process is a started command with the streams of an agent.
type process struct {
	platform.Process
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func (p *process) Stdin() io.WriteCloser { return p.in }
func (p *process) Stdout() io.Reader     { return p.out }
func (p *process) Stderr() string        { return "" }
func (p *process) Wait() error           { return p.cmd.Wait() }
func (p *process) Kill() error           { return p.cmd.Process.Kill() }

// TestPairs runs a server and a client in images and lets them measure, which takes more than printing a
// version: cancelled threads, protocols by name, devices.
func TestPairs(t *testing.T) {
	const address = "198.18.0.1" // not loopback: otherwise names are not looked up for IPv4
	err := nl.With("/proc/self/ns/net", func(n *nl.NS) error {
		return errors.Join(n.Up("lo"), n.Addr("lo", netip.MustParsePrefix(address+"/32")))
	})
	iferr.Fatal(t, err)
	for _, pair := range []struct {
		server, client []string
		want           string
	}{
		{[]string{"iperf3", "-s", "-1", "-p", "5301"}, []string{"iperf3", "-c", address, "-p", "5301", "-n", "1M", "-P", "2"}, "iperf Done."},
		{[]string{"netserver", "-D", "-4", "-p", "5302"}, []string{"netperf", "-H", address, "-p", "5302", "-t", "TCP_RR", "-l", "1"}, "REQUEST/RESPONSE"},
		{[]string{"qperf", "-lp", "5303"}, []string{"qperf", "-lp", "5303", address, "-t", "1", "tcp_lat"}, "latency"},
	} {
		t.Run(pair.client[0], func(t *testing.T) {
			var programs []Program
			for _, name := range []string{pair.server[0], pair.client[0]} {
				file, ok := here(t, name)
				if !ok {
					t.Skip("not installed: " + name)
				}
				programs = append(programs, tool(name, file))
			}
			root := container(t, image(t, programs...))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var said bytes.Buffer
			server := inside(ctx, root, programs[0].Path, pair.server[1:]...)
			server.Stdout, server.Stderr = &said, &said
			iferr.Fatal(t, server.Start())
			defer func() {
				_ = server.Process.Kill()
				_ = server.Wait()
			}()
			for {
				out, err := inside(ctx, root, programs[1].Path, pair.client[1:]...).CombinedOutput()
				if err == nil && strings.Contains(string(out), pair.want) {
					return
				}
				if ctx.Err() != nil {
					t.Fatalf("the client says %s, %v", out, err)
				}
				time.Sleep(50 * time.Millisecond) // the server may not listen yet
			}
		})
	}
}
