package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
)

// engineRun is a run over several networks of an engine.
var engineRun = []string{
	"nettoll", "run", "docker:bridge", "docker:user-bridge", "docker:published", "--hosts", "1", "--workloads", "tcp_rr", "--placement", "free",
	"-t", "50ms", "--warmup", "50ms", "--min-rounds", "2", "--max-rounds", "2", "-o", "x.ndjson",
}

func TestClean(t *testing.T) {
	e := startTheirs(t)
	e.furnish(t)
	if out, _ := e.nettoll(t, exitOK, "clean"); out != "nothing was left behind\n" && out != "" { // others may have left control groups
		t.Errorf("on an engine without a trace: %q", out)
	}

	p := e.inside(t, t.TempDir(), engineRun...)
	until(t, "the run has containers", func() bool {
		return p.ended() || strings.Contains(fmt.Sprint(e.labelled(t)), "container ")
	})
	out, _ := e.nettoll(t, exitOK, "clean", "--yes", "--all") // whatever is said
	if !strings.HasPrefix(out, "kept ") || !strings.HasSuffix(out, ": it goes on\n") || strings.Count(out, "\n") != 1 {
		t.Errorf("during a run: %q", out)
	}
	if p.ended() {
		t.Errorf("the run has ended; it said:\n%s", p.said())
	}
	for pid, args := range ours(t) {
		if strings.HasPrefix(args, "nettoll run ") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	p.status(t)
	left := e.labelled(t)
	if !strings.Contains(fmt.Sprint(left), "image nettoll:") {
		t.Errorf("a run that was killed left %v", left)
	}
	out, said := e.nettoll(t, exitOK, "clean")
	if said != "nettoll clean --yes removes it\n" {
		t.Errorf("what would remove it: %q", said)
	}
	if lines := strings.Count(out, "\n"); lines == 0 || strings.Count(out, "would remove ") != lines || !strings.Contains(out, "would remove image nettoll:") {
		t.Errorf("what would be removed: %q", out)
	}
	if is := e.labelled(t); !strings.Contains(fmt.Sprint(is), "image nettoll:") {
		t.Errorf("listing leaves %v of %v", is, left)
	}
	out, _ = e.nettoll(t, exitOK, "clean", "--yes")
	if !strings.Contains(out, "removed image nettoll:") {
		t.Errorf("what was removed: %q", out)
	}
	e.clean(t)

	// Of a run on another machine nobody here knows whether it goes on.
	labels := map[string]string{engine.Label: "elsewhere"}
	if _, err := e.client(t).VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "far", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	if out, _ := e.nettoll(t, exitOK, "clean", "--yes"); out != "kept volume far of run elsewhere: whether it goes on cannot be told from here; --all takes it, too\n" {
		t.Errorf("of a run elsewhere: %q", out)
	}
	if out, _ := e.nettoll(t, exitOK, "clean", "--all"); out != "would remove volume far\n" {
		t.Errorf("with --all: %q", out)
	}
	if out, _ := e.nettoll(t, exitOK, "clean", "--yes", "--all"); out != "removed volume far\n" {
		t.Errorf("with --all: %q", out)
	}
	e.untouched(t)
}

// TestCleanCannot says in one line why.
func TestCleanCannot(t *testing.T) {
	e := startTheirs(t)
	labels := map[string]string{engine.Label: "used"}
	c := e.client(t)
	e.furnish(t)
	if _, err := c.NetworkCreate(t.Context(), "used", client.NetworkCreateOptions{Driver: "bridge", Labels: labels}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NetworkConnect(t.Context(), "used", client.NetworkConnectOptions{Container: "theirs"}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		args []string
		says string
	}{
		{[]string{"nettoll", "clean", "--yes", "--all"}, "nettoll: docker: remove network used: "},
		{[]string{"nettoll", "clean", "--docker-host", "unix:///run/none"}, "nettoll: docker engine at unix:///run/none (--docker-host): no such socket; "},
		{[]string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "nettoll", "clean"}, "permission denied"},
	} {
		p := e.inside(t, "/", f.args...)
		status := p.status(t)
		if text := p.err.String(); status != exitFailure || !oneError.MatchString(text) || !strings.Contains(text, f.says) || engineLines(p.out.String()) != "" {
			t.Errorf("%v: exit status %d, standard output %q, standard error %q, want one line with %q", f.args, status, p.out.String(), text, f.says)
		}
	}
	e.untouched(t)
}
