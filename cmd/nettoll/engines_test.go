package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nettoll/docker/engine"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// TestPrivateEngineLeavesMachineConfig runs a private engine on a machine with an /etc/docker that would stop it,
// change it, or block it forever if it were read; and on one without. /etc/docker must be unchanged afterwards.
func TestPrivateEngineLeavesMachineConfig(t *testing.T) {
	if err := engine.Available(); err != nil {
		platformtest.Require(t, "dockerd", err)
	}
	for name, furnish := range map[string]func(t *testing.T, dir string){
		"none": func(*testing.T, string) {},
		"hostile": func(t *testing.T, dir string) {
			for _, d := range []string{dir, filepath.Join(dir, "plugins"), filepath.Join(dir, "certs.d")} {
				iferr.Fatal(t, os.Mkdir(d, 0o755))
			}
			const settings = `{"storage-driver": "overlay2", "data-root": "/nowhere", "icc": false, "mtu": 600}`
			iferr.Fatal(t, os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(settings), 0o644))
			for _, pipe := range []string{"key.json", "plugins/hostile.spec", "plugins/hostile.json"} {
				iferr.Fatal(t, syscall.Mkfifo(filepath.Join(dir, pipe), 0o600))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			etc := filepath.Join(dir, "etc")
			if out, err := exec.Command("cp", "-a", "/etc", etc).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			iferr.Fatal(t, os.RemoveAll(filepath.Join(etc, "docker")))
			furnish(t, filepath.Join(etc, "docker"))
			was := tree(t, etc)
			var path string
			again(t, func() *started {
				path = filepath.Join(t.TempDir(), "x.ndjson")
				return startProgram(t, dir, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount --bind etc /etc && exec "$@"`, "sh",
					"nettoll", "run", "docker:bridge", "--private-engine", "--hosts", "1", "--workloads", "tcp_rr", "--placement", "free",
					"-t", "50ms", "--warmup", "50ms", "--min-rounds", "1", "--max-rounds", "1", "-o", path)
			}).ends(t, exitOK)
			file := good(t, path)
			if diff := cmp.Diff(&record.Venue{PrivateEngine: true}, file.Run.Settings.Venue); diff != "" {
				t.Errorf("the run file does not say whose engine it was: %s", diff)
			}
			if diff := cmp.Diff(was, tree(t, etc)); diff != "" {
				t.Errorf("/etc has changed: %s", diff)
			}
		})
	}
}

// TestPrivateSwarmLeavesNothing has nodes of a swarm, whose libnetwork writes files of load balancers to /var/lib/docker, on a machine
// without that folder.
func TestPrivateSwarmLeavesNothing(t *testing.T) {
	if err := engine.Available(); err != nil {
		platformtest.Require(t, "dockerd", err)
	}
	dir := t.TempDir()
	iferr.Fatal(t, os.Mkdir(filepath.Join(dir, "lib"), 0o755))
	var path string
	again(t, func() *started {
		path = filepath.Join(t.TempDir(), "x.ndjson")
		return startProgram(t, dir, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount --bind lib /var/lib && exec "$@"`, "sh",
			"nettoll", "run", "swarm:overlay", "--private-engine", "--workloads", "tcp_rr", "--placement", "free",
			"-t", "50ms", "--warmup", "50ms", "--min-rounds", "1", "--max-rounds", "1", "-o", path)
	}).ends(t, exitOK)
	good(t, path)
	if left, err := os.ReadDir(filepath.Join(dir, "lib")); err != nil || len(left) > 0 {
		t.Errorf("/var/lib has %v, %v", left, err)
	}
}

// tree lists all files in a folder, one per line: names, kinds and hashes of their contents.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	out, err := exec.Command("find", dir, "-printf", "%M %l %p\n", "-type", "f", "-exec", "sha256sum", "{}", ";").Output()
	iferr.Fatal(t, err)
	return strings.Split(string(out), "\n")
}

// TestDefaultRunBesideAnEngine checks that a run which names no network does not touch an engine that answers, and
// reports how to measure the engine's networks.
func TestDefaultRunBesideAnEngine(t *testing.T) {
	e := startTheirs(t)
	e.furnish(t)
	const offer = "A Docker engine is running here; this run did not use it."
	for _, c := range []struct {
		args  []string
		wants bool
	}{
		{nil, true},
		{[]string{"host", "veth", "--hosts", "1"}, false},
		{[]string{"--format", "json"}, false},
	} {
		args := append([]string{"nettoll", "run"}, c.args...)
		args = append(args, "--workloads", "tcp_rr", "-t", "20ms", "--min-rounds", "2", "--max-rounds", "2") // each network works in one of them
		p := again(t, func() *started { return e.inside(t, t.TempDir(), args...) })
		if status := p.status(t); status != exitOK || strings.Contains(p.out.String(), offer) != c.wants {
			t.Errorf("%v: exit status %d; it said:\n%s", c.args, status, p.said())
		}
	}
	e.untouched(t)
}

// TestEngineElsewhereIsNotAsked checks that a run which names no network does not log in to the machine of an engine.
func TestEngineElsewhereIsNotAsked(t *testing.T) {
	bin, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
	iferr.Fatal(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\n: >"+asked+"\nexit 255\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "ssh://elsewhere.invalid")
	var out bytes.Buffer
	(&app{stdout: &out}).offerEngine(t.Context())
	if _, err := os.Stat(asked); err == nil || out.Len() > 0 {
		t.Errorf("it was asked (%v), and this was said: %q", err == nil, out.String())
	}
	engineState(t.Context())
	if _, err := os.Stat(asked); err != nil {
		t.Errorf("this test would not notice: %v", err)
	}
}

// TestRunDocker checks that the name of the platform measures its usual networks, on as many hosts as there are
// engines, and that networks of an engine and of the lab share a table.
func TestRunDocker(t *testing.T) {
	e := startTheirs(t)
	run := func(args ...string) *record.File {
		t.Helper()
		var path string
		again(t, func() *started {
			path = filepath.Join(t.TempDir(), "x.ndjson")
			return e.inside(t, "/", slices.Concat([]string{"nettoll", "run"}, args, []string{"--workloads", "tcp_rr", "-t", "20ms", "-o", path})...)
		}).ends(t, exitOK)
		return read(t, path)
	}
	file := run("docker", "--min-rounds", "1", "--max-rounds", "1")
	allGood(t, file)
	var networks []string
	for _, c := range file.Run.Cells {
		networks = append(networks, fmt.Sprintf("%s on %d", c.Network, c.Hosts))
	}
	if want := []string{"docker:native on 1", "docker:bridge on 1", "docker:published on 1"}; !slices.Equal(networks, want) {
		t.Errorf("it measured %q, want %q", networks, want)
	}
	if s := file.Run.Skips; len(s) != 1 || s[0].Network != "docker:published on 2 hosts" {
		t.Errorf("it left out %+v", s)
	}
	oneTable(t, run("docker:bridge", "bridge", "--baseline", "host", "--hosts", "1", "--min-rounds", "2", "--max-rounds", "2"), "bridge", "docker:bridge", "host")
}
