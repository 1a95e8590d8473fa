package docker_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/moby/moby/client"
	"github.com/prometheus/procfs"

	"nettoll/docker/dockertest"
	"nettoll/docker/engine"
	"nettoll/docker/rootfs"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform"
	"nettoll/platform/docker"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func TestConformance(t *testing.T) { platformtest.Conform(t, private(t)) }

// private returns the platform with private engines, whose image has the programs that the suite runs in
// containers.
func private(t *testing.T) *docker.Docker {
	t.Helper()
	platformtest.Require(t, "dockerd", engine.Available())
	agent, err := rootfs.Agent()
	iferr.Fatal(t, err)
	programs := []rootfs.Program{agent}
	for _, name := range []string{"sh", "cat", "echo", "head", "readlink", "sleep", "tr", "true"} {
		file, err := exec.LookPath(name)
		iferr.Fatal(t, err)
		programs = append(programs, rootfs.Program{File: file, Path: "/usr/bin/" + name})
	}
	image, err := rootfs.New(programs...)
	iferr.Fatal(t, err)
	p := docker.New(docker.Options{Run: "0123456789abcdef", Image: engine.Image{Root: image}, Lab: lab.New(), Sets: 3})
	t.Cleanup(func() {
		iferr.Error(t, p.Close(context.Background()))
		if left := daemons(t); left != 0 {
			t.Errorf("%d dockerd run after Close", left)
		}
	})
	return p
}

// daemons returns how many dockerd run in the lab of this test.
func daemons(t *testing.T) int {
	t.Helper()
	return len(pids(t))
}

// pids returns the PIDs of the dockerd in the lab of this test.
func pids(t *testing.T) (all []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	iferr.Fatal(t, err)
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if program, _, _ := bytes.Cut(b, []byte{0}); err == nil && filepath.Base(string(program)) == "dockerd" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			iferr.Fatal(t, err)
			all = append(all, pid)
		}
	}
	// What a dockerd has forked looks like it until it runs its own program.
	return slices.DeleteFunc(slices.Clone(all), func(pid int) bool {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return true // it has ended
		}
		stat, err := p.Stat()
		return err != nil || slices.Contains(all, stat.PPID)
	})
}

// engineOf returns a host with an engine with the settings.
func engineOf(t *testing.T, p *docker.Docker, req platform.HostRequest, s engine.Settings) (*engine.Host, *engine.Hosts) {
	t.Helper()
	req.Count = 1
	hosts, err := p.Engines(t.Context(), req, s)
	iferr.Fatal(t, err)
	return hosts.Docker[0], hosts
}

func TestEnginesAreKeptUntilThereAreTooMany(t *testing.T) {
	p := private(t)
	plain, own := platform.HostRequest{}, engine.Settings{}
	// used returns the engine of a network that has been taken down.
	used := func(req platform.HostRequest, s engine.Settings) *engine.Host {
		h, hosts := engineOf(t, p, req, s)
		iferr.Fatal(t, hosts.Close(t.Context()))
		return h
	}
	first := used(plain, own)
	if again := used(plain, own); again != first {
		t.Error("the same hosts were asked for, and others were given")
	}
	if other := used(plain, engine.Settings{NoICC: true}); other == first {
		t.Error("other settings were asked for, and the same engine was given")
	}
	if other := used(platform.HostRequest{Rules: 1}, own); other == first {
		t.Error("another host was asked for, and the same was given")
	}
	if got := daemons(t); got != 3 {
		t.Errorf("%d engines run, want 3", got)
	}
	used(platform.HostRequest{Underlay: platform.Underlay{MTU: 9000}}, own)
	if got := daemons(t); got != 3 {
		t.Errorf("%d engines run, want 3: the one that was used before all others should have ended", got)
	}
	if again := used(plain, own); again == first {
		t.Error("an engine that has ended was given")
	}
	want := []string{"1 × dockerd", "1 × dockerd --icc=false", "1 × dockerd", "1 × dockerd", "1 × dockerd"}
	if got := p.Stood(); !slices.Equal(got, want) {
		t.Errorf("stood: %q, want %q", got, want)
	}
}

// TestNetworksThatStandAtOnce checks that each network has engines of its own, which others can use once it has
// been taken down.
func TestNetworksThatStandAtOnce(t *testing.T) {
	p := private(t)
	plain, own := platform.HostRequest{}, engine.Settings{}
	one, hosts := engineOf(t, p, plain, own)
	other, _ := engineOf(t, p, plain, own)
	if one == other {
		t.Error("two networks that stand have the same engine")
	}
	iferr.Fatal(t, hosts.Close(t.Context()))
	if again, _ := engineOf(t, p, plain, own); again != one {
		t.Error("an engine that nobody uses was not given")
	}
	if err := hosts.Close(t.Context()); err != nil { // again, when another network uses the engine
		t.Fatal(err)
	}
	if third, _ := engineOf(t, p, plain, own); third == one {
		t.Error("an engine was given that another network has")
	}
	if got := daemons(t); got != 3 {
		t.Errorf("%d engines run, want 3", got)
	}
	if n := p.Info().AtOnce; n < 2 {
		t.Errorf("%d networks can stand at once", n)
	}
	if n := docker.NewSwarm(docker.Options{}).Info().AtOnce; n != 1 {
		t.Errorf("%d networks can stand at once on an engine of the user's", n)
	}
}

// TestEnginesThatHaveEndedAreReplaced kills the engine of a network, and then one that is kept for the next.
func TestEnginesThatHaveEndedAreReplaced(t *testing.T) {
	p := private(t)
	kill := func() {
		t.Helper()
		for _, pid := range pids(t) {
			iferr.Fatal(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	var was *engine.Host
	for _, idle := range []bool{false, true} {
		h, hosts := engineOf(t, p, platform.HostRequest{}, engine.Settings{})
		if h == was {
			t.Error("an engine was given that has ended")
		}
		was = h
		if _, err := h.Containers(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if !idle {
			kill()
		}
		if err := hosts.Close(t.Context()); err != nil {
			t.Errorf("idle=%v: %v", idle, err)
		}
		if idle {
			kill()
		}
	}
	h, hosts := engineOf(t, p, platform.HostRequest{}, engine.Settings{})
	if _, err := h.Containers(t.Context(), 1); err != nil {
		t.Error(err)
	}
	iferr.Error(t, hosts.Close(t.Context()))
}

func TestClosedHostsLeaveNothingOnTheirEngines(t *testing.T) {
	h, hosts := engineOf(t, private(t), platform.HostRequest{}, engine.Settings{})
	container, err := h.Containers(t.Context(), 2)
	iferr.Fatal(t, err)
	if _, err := h.Share(t.Context(), container[0]); err != nil {
		t.Fatal(err)
	}
	name, err := h.Network(t.Context(), engine.NetworkSpec{Name: "test", Driver: "bridge"})
	iferr.Fatal(t, err)
	if _, err := h.Run(t.Context(), engine.Spec{Mode: name}); err != nil {
		t.Fatal(err)
	}
	ours := make(client.Filters).Add("label", engine.Label)
	count := func() (containers, networks int) { // what has been removed may be listed for a moment
		c, err := h.Engine.Client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: ours})
		iferr.Fatal(t, err)
		n, err := h.Engine.Client.NetworkList(t.Context(), client.NetworkListOptions{Filters: ours})
		iferr.Fatal(t, err)
		return len(c.Items), len(n.Items)
	}
	if containers, networks := count(); containers != 4 || networks != 1 {
		t.Errorf("%d containers and %d networks carry the label, want 4 and 1", containers, networks)
	}
	for range 2 { // the second time must do no harm
		iferr.Error(t, hosts.Close(t.Context()))
	}
	dockertest.Until(t, "nothing is left on the engine", func() bool {
		containers, networks := count()
		return containers == 0 && networks == 0
	})
}
