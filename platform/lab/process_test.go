package lab_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nettoll/platform"
	"nettoll/platform/lab"
)

// endpoints are two hosts with a container each, unlike the suite's of one site.
func endpoints(t *testing.T) []platform.Endpoint {
	t.Helper()
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hosts.Close(t.Context()) })
	var all []platform.Endpoint
	for _, h := range hosts.All() {
		c, err := h.Containers(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h, c[0])
	}
	return all
}

func run(t *testing.T, e platform.Endpoint, path string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	p, err := e.Start(t.Context(), platform.Command{Path: path, Args: args, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestProcessesDoNotKnowThatTheyAreInside(t *testing.T) {
	if !lab.Inside() || !strings.Contains(strings.Join(os.Environ(), "\n"), "NETTOLL_INSIDE_LAB=") {
		t.Fatal("this test is not inside")
	}
	for _, e := range endpoints(t)[:2] {
		if env := run(t, e, "env"); strings.Contains(env, "NETTOLL_INSIDE_LAB") {
			t.Errorf("a nettoll started in %s would take itself for the process inside:\n%s", e.Name(), env)
		}
	}
}

func TestProcessThatCannotStartLeavesNoPipe(t *testing.T) {
	e := endpoints(t)[0]
	before := descriptors(t)
	for range 5 {
		if _, err := e.Start(t.Context(), platform.Command{Path: "no-program-has-this-name"}); err == nil {
			t.Fatal("it was started")
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d pipes are open, %d before", after, before)
	}
}

func descriptors(t *testing.T) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil && strings.HasPrefix(target, "pipe:") {
			n++
		}
	}
	return n
}

func TestPublishedNamesReachTheNamespaces(t *testing.T) {
	all := endpoints(t)
	t.Cleanup(func() {
		for _, e := range all {
			name := filepath.Join("/run/netns", e.Name())
			if err := errors.Join(unix.Unmount(name, 0), os.Remove(name)); err != nil {
				t.Error(err)
			}
		}
	})
	if err := lab.Publish(append(all, all[0])); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		want := run(t, e, "readlink", "/proc/self/ns/net")
		if got := run(t, all[0], "ip", "netns", "exec", e.Name(), "readlink", "/proc/self/ns/net"); got != want {
			t.Errorf("%s is %s, want %s", e.Name(), got, want)
		}
	}
	if err := lab.Publish(all); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestOnlyContainersOfTheLabAreShared(t *testing.T) {
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close(t.Context())
	h := hosts.All()[0]
	if _, err := h.(platform.Sharer).Share(t.Context(), stranger{h}); err == nil || err.Error() != "lab: h1 is not a container of this lab" {
		t.Errorf("error is %v", err)
	}
}

type stranger struct{ platform.Endpoint }
