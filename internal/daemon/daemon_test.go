package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/daemon"
	"nettoll/internal/testutil"
	"nettoll/internal/testutil/iferr"
	"nettoll/internal/undo"
	"nettoll/platform"
	"nettoll/platform/lab"
	"nettoll/platform/platformtest"
)

func TestMain(m *testing.M) { testutil.Main(m) }

func host(t *testing.T) platform.Host {
	t.Helper()
	hosts, err := lab.New().Hosts(t.Context(), platform.HostRequest{Count: 1})
	iferr.Fatal(t, err)
	t.Cleanup(func() { hosts.Close(context.Background()) })
	return hosts.All()[0]
}

func shell(script string, ready func(context.Context) error) daemon.Spec {
	return daemon.Spec{
		Name: "prog", Path: "sh", Args: []string{"-c", script}, Ready: ready, Patience: time.Minute,
		Complaint: func(line string) bool { return strings.HasPrefix(line, "error") },
	}
}

func TestDaemonThatDoesNotBecomeReady(t *testing.T) {
	h := host(t)
	never := func(context.Context) error { return errors.New("port 1 is closed") }
	start := func(script string, patience time.Duration) (said string) {
		t.Helper()
		var stack undo.Stack
		spec := shell(script, never)
		spec.Patience = patience
		_, err := daemon.Start(t.Context(), &stack, h, spec)
		iferr.Error(t, stack.Close(context.Background()))
		return fmt.Sprint(err)
	}
	for script, want := range map[string]string{
		"echo cannot bind >&2; exec sleep 60":             "prog on h1 was not ready within PATIENCE: port 1 is closed: its log ends with: cannot bind",
		"echo options; echo error: no tun; exec sleep 60": "prog on h1 was not ready within PATIENCE: port 1 is closed: it says: error: no tun",
		"exec sleep 60":                          "prog on h1 was not ready within PATIENCE: port 1 is closed: it logged nothing",
		"echo no config; echo giving up; exit 3": "prog on h1 ended (exit status 3): its log ends with: no config | giving up",
	} {
		var got, would string
		for _, patience := range []time.Duration{300 * time.Millisecond, 20 * time.Second} { // on a busy machine, it says nothing for seconds
			got, would = start(script, patience), strings.ReplaceAll(want, "PATIENCE", patience.String())
			if got == would {
				break
			}
		}
		if got != would {
			t.Errorf("%q: %s; want %q", script, got, would)
		}
	}
}

// TestNeededDaemonEnds checks that a daemon that waits for one that has ended does not take the blame.
func TestNeededDaemonEnds(t *testing.T) {
	h := host(t)
	var stack undo.Stack
	t.Cleanup(func() { iferr.Error(t, stack.Close(context.Background())) })
	store := shell("read line; exit 3", nil)
	store.Name = "store"
	needed, err := daemon.Start(t.Context(), &stack, h, store)
	iferr.Fatal(t, err)
	spec := shell("exec sleep 60", func(context.Context) error {
		_, _ = needed.Stdin().Write([]byte("\n"))
		return errors.New("no answer")
	})
	spec.Needs = []*daemon.Daemon{needed}
	const want = "store on h1 ended (exit status 3): it logged nothing"
	if _, err := daemon.Start(t.Context(), &stack, h, spec); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestDaemonIsWatched(t *testing.T) {
	h := host(t)
	dir := t.TempDir()
	ready := func(context.Context) error { _, err := os.Stat(filepath.Join(dir, "up")); return err }
	var stack undo.Stack
	d, err := daemon.Start(t.Context(), &stack, h, func() daemon.Spec {
		s := shell("echo fine; echo error: no peers; touch up; read line; echo bye; exit 4", ready)
		s.Dir = dir
		return s
	}())
	iferr.Fatal(t, err)
	if err := d.Fault(); err != nil || d.String() != "prog on h1" {
		t.Errorf("%s: %v", d, err)
	}
	read := time.Now().Add(10 * time.Second) // its output is read by another goroutine
	for len(d.Complaints()) == 0 && time.Now().Before(read) {
		time.Sleep(time.Millisecond)
	}
	if got := d.Complaints(); len(got) != 1 || got[0] != "prog on h1 says: error: no peers" {
		t.Errorf("complaints %q", got)
	}
	if _, err := d.Stdin().Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(time.Minute); d.Fault() == nil && time.Now().Before(over); {
		time.Sleep(time.Millisecond)
	}
	if err := d.Fault(); err == nil || !strings.HasPrefix(err.Error(), "prog on h1 ended (exit status 4): it says: error: no peers") {
		t.Error(err)
	}
	iferr.Error(t, stack.Close(context.Background()))
}

func TestStoppedDaemonIsNoFault(t *testing.T) {
	var stack undo.Stack
	d, err := daemon.Start(t.Context(), &stack, host(t), shell("trap '' TERM; exec sleep 60", nil))
	iferr.Fatal(t, err)
	iferr.Error(t, stack.Close(context.Background()))
	iferr.Error(t, d.Fault())
	if err := d.Stop(); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestPausedDaemon checks that a paused daemon does nothing until it is resumed, has no fault, and ends when it is asked to.
func TestPausedDaemon(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "written")
	writes := func() bool { // within what a busy machine may take
		t.Helper()
		iferr.Fatal(t, os.RemoveAll(file))
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				return true
			}
		}
		return false
	}
	spec := shell("trap 'touch ended; exit 0' TERM; while :; do echo >written; sleep 0.01; done", nil)
	spec.Dir, spec.Grace = dir, time.Minute
	var stack undo.Stack
	d, err := daemon.Start(t.Context(), &stack, host(t), spec)
	iferr.Fatal(t, err)
	if !writes() {
		t.Fatal("it does not run")
	}
	pause := func() {
		t.Helper()
		iferr.Fatal(t, d.Pause())
		err := await.Until(t.Context(), time.Minute, time.Millisecond, func(context.Context) (missing, err error) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.PID()))
			if err == nil && !strings.Contains(string(stat), ") T ") {
				missing = fmt.Errorf("it is not stopped: %s", stat)
			}
			return missing, err
		})
		iferr.Fatal(t, err)
		iferr.Fatal(t, os.RemoveAll(file))
		time.Sleep(200 * time.Millisecond)
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it goes on while it is paused: %v", err)
		}
		iferr.Error(t, d.Fault())
	}
	pause()
	if err := d.Resume(); err != nil || !writes() {
		t.Errorf("it does not go on: %v", err)
	}
	pause()
	began := time.Now()
	iferr.Error(t, stack.Close(context.Background()))
	if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
		t.Errorf("it was killed after %v, and not asked to end: %v", time.Since(began), err)
	}
	if err := d.Resume(); err != nil {
		t.Errorf("after its end: %v", err)
	}
}

// TestDaemonLeavesNobody has a child that would outlive its daemon and keep writing.
func TestDaemonLeavesNobody(t *testing.T) {
	h := host(t)
	const child = `(trap '' TERM; touch up; exec </dev/null >/dev/null 2>&1; while :; do date +%N >written; sleep 0.01; done) &
		`
	for _, c := range []struct {
		name, script string
		end          func(*testing.T, *daemon.Daemon)
	}{
		{"stopped", "trap 'exit 0' TERM; " + child + "while :; do wait; done", func(t *testing.T, d *daemon.Daemon) { iferr.Error(t, d.Stop()) }},
		{"killed", child + "while :; do wait; done", func(t *testing.T, d *daemon.Daemon) { iferr.Error(t, d.Kill()) }},
		{"ended by itself", child + "read line; exit 4", func(t *testing.T, d *daemon.Daemon) {
			_, err := d.Stdin().Write([]byte("\n"))
			iferr.Fatal(t, err)
			for over := time.Now().Add(time.Minute); d.Fault() == nil && time.Now().Before(over); {
				time.Sleep(time.Millisecond)
			}
			iferr.Error(t, d.Stop())
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := shell(c.script, func(context.Context) error { _, err := os.Stat(filepath.Join(dir, "up")); return err })
			spec.Dir = dir
			var stack undo.Stack
			d, err := daemon.Start(t.Context(), &stack, h, spec)
			iferr.Fatal(t, err)
			c.end(t, d)
			iferr.Fatal(t, os.RemoveAll(filepath.Join(dir, "written")))
			time.Sleep(100 * time.Millisecond)
			if _, err := os.Stat(filepath.Join(dir, "written")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("what the daemon had started goes on to write: %v", err)
			}
			iferr.Error(t, stack.Close(context.Background()))
		})
	}
}

func TestEtcdKeepsWhatIsPut(t *testing.T) {
	h := host(t)
	found, err := daemon.Find(nil, daemon.EtcdProgram)
	platformtest.Require(t, "etcd", err)
	var stack undo.Stack
	defer stack.Close(context.Background())
	dir, err := daemon.State(&stack)
	iferr.Fatal(t, err)
	e, err := daemon.StartEtcd(t.Context(), &stack, found["etcd"], h, dir)
	iferr.Fatal(t, err)
	iferr.Error(t, e.Put(t.Context(), "/nettoll/test", `{"a":1}`))
	iferr.Fatal(t, e.Stop())
	if err := e.Put(t.Context(), "/nettoll/test", "2"); err == nil {
		t.Error("an etcd that has ended took a value")
	}
}
