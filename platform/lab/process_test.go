package lab_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nettoll/internal/testutil/iferr"
	"nettoll/internal/testutil/machine"
	"nettoll/platform"
	"nettoll/platform/lab"
)

// endpoints returns two hosts with a container each. The suite tests processes on one host only.
func endpoints(t *testing.T) []platform.Endpoint {
	t.Helper()
	hosts := hostsOf(t, platform.HostRequest{Count: 2})
	var all []platform.Endpoint
	for _, h := range hosts {
		c, err := h.Containers(t.Context(), 1)
		iferr.Fatal(t, err)
		all = append(all, h, c[0])
	}
	return all
}

func run(t *testing.T, e platform.Endpoint, path string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	p, err := e.Start(t.Context(), platform.Command{Path: path, Args: args, Stdout: &out})
	iferr.Fatal(t, err)
	iferr.Fatal(t, p.Wait())
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
	before := machine.Descriptors(t, "pipe:")
	for range 5 {
		if _, err := e.Start(t.Context(), platform.Command{Path: "no-program-has-this-name"}); err == nil {
			t.Fatal("it was started")
		}
	}
	if after := machine.Descriptors(t, "pipe:"); after != before {
		t.Errorf("%d pipes are open, %d before", after, before)
	}
}

func TestPublishedNamesReachTheNamespaces(t *testing.T) {
	all := endpoints(t)
	t.Cleanup(func() {
		for _, e := range all {
			name := filepath.Join("/run/netns", e.Name())
			iferr.Error(t, errors.Join(unix.Unmount(name, 0), os.Remove(name)))
		}
	})
	iferr.Fatal(t, lab.Publish(append(all, all[0])))
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
	h := hostsOf(t, platform.HostRequest{Count: 1})[0]
	if _, err := h.Facts().Share(t.Context(), stranger{h}); err == nil || err.Error() != "lab: h1 is not a container of this lab" {
		t.Errorf("error is %v", err)
	}
}

type stranger struct{ platform.Endpoint }

// dead lists the processes of the lab that have ended and have not been reaped.
func dead(t *testing.T) (all []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	iferr.Fatal(t, err)
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // reaped
		}
		if rest := b[bytes.LastIndexByte(b, ')')+1:]; strings.HasPrefix(string(rest), " Z 1 ") {
			all = append(all, string(b))
		}
	}
	return all
}

// asleep returns how many sleep programs run.
func asleep(t *testing.T) (n int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	iferr.Fatal(t, err)
	for _, path := range names {
		if b, err := os.ReadFile(path); err == nil && string(b) == "sleep\n" {
			n++
		}
	}
	return n
}

// TestOrphansAreReaped has programs leave many children that end later, while other programs are waited for: the
// exit status of those must not be lost.
func TestOrphansAreReaped(t *testing.T) {
	const orphans, programs = 200, 100
	e := endpoints(t)[1]
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do (setsid sleep 0.$((i %% 10)) & ) ; i=$((i+1)); done", orphans)
	p, err := e.Start(t.Context(), platform.Command{Path: "sh", Args: []string{"-c", script}})
	iferr.Fatal(t, err)
	var waiting sync.WaitGroup
	for i := range programs {
		waiting.Go(func() {
			err := exec.Command("sh", "-c", fmt.Sprintf("exit %d", i)).Run()
			status := 0
			if exit, ok := err.(*exec.ExitError); ok {
				status = exit.ExitCode()
			} else if err != nil {
				t.Error(err)
			}
			if status != i {
				t.Errorf("exit status %d, want %d", status, i)
			}
		})
	}
	waiting.Wait()
	iferr.Error(t, p.Wait())
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		asleep, left := asleep(t), dead(t)
		if asleep == 0 && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d are asleep, and %d have ended and are not reaped, such as %s", asleep, len(left), left[:min(1, len(left))])
		}
	}
}
