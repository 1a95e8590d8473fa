package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"nettoll/docker/engine"
	"nettoll/record"
)

// crashes are what is killed.
var crashes = []string{"nettoll", "container", "dockerd"}

// TestEngineCrash kills nettoll, one of its containers or the engine itself at random
// moments of a run. NETTOLL_CRASHES says how many, NETTOLL_SEED which.
func TestEngineCrash(t *testing.T) {
	n, seed := number(t, "NETTOLL_CRASHES", 5), number(t, "NETTOLL_SEED", int(time.Now().UnixNano()%1e6))
	if testing.Short() {
		n = min(n, 3)
	}
	t.Logf("NETTOLL_SEED=%d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	e := startTheirs(t)
	e.furnish(t)
	for i := range n {
		if e.ended() {
			e = startTheirs(t)
			e.furnish(t)
		}
		after, what := time.Duration(r.Int64N(int64(5*time.Second))), crashes[i%len(crashes)]
		t.Run(fmt.Sprintf("%d %s after %s", i, what, after.Round(time.Millisecond)), func(t *testing.T) {
			e.crash(t, what, after, r)
		})
	}
}

func (e *theirEngine) crash(t *testing.T, what string, after time.Duration, r *rand.Rand) {
	dir := t.TempDir()
	p := e.inside(t, dir, engineRun...)
	time.Sleep(after)
	switch what {
	case "nettoll":
		for pid, args := range ours(t) {
			if strings.HasPrefix(args, "nettoll run ") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	case "container":
		e.killOne(t, r)
	case "dockerd":
		e.kill(t)
		if err := e.launch(t); err != nil && strings.Contains(err.Error(), "libnetwork.(*controller).reservePools") {
			t.Skip("dockerd 20.10 panics for ever when it was killed in the middle of making a network")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	status := p.status(t)
	if said := p.said(); strings.Contains(said, "goroutine ") || strings.Contains(p.err.String(), "\n\n") {
		t.Errorf("it said:\n%s", said)
	}
	e.judge(t, filepath.Join(dir, "x.ndjson"), what, status)
	if status == exitOK {
		e.clean(t) // a run that came to its end leaves nothing
	}
	left := e.labelled(t)
	out, _ := e.nettoll(t, exitOK, "clean", "--yes")
	t.Logf("exit status %d; left were %v; clean said: %s", status, left, strings.ReplaceAll(strings.TrimSpace(out), "\n", ", "))
	e.clean(t)
	until(t, "their container runs again", func() bool {
		is, err := e.client(t).ContainerInspect(t.Context(), "theirs", client.ContainerInspectOptions{})
		return err == nil && is.Container.State.Running
	})
	e.untouched(t)
}

// killOne kills a container of the run's, where there is one in this moment.
func (e *theirEngine) killOne(t *testing.T, r *rand.Rand) {
	t.Helper()
	c := e.client(t)
	all, err := c.ContainerList(t.Context(), client.ContainerListOptions{Filters: make(client.Filters).Add("label", engine.Label)})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Items) > 0 {
		_, _ = c.ContainerKill(t.Context(), all.Items[r.IntN(len(all.Items))].ID, client.ContainerKillOptions{Signal: "KILL"}) // it may be going
	}
}

// judge reads the run file: trials that failed say why in one line.
func (e *theirEngine) judge(t *testing.T, path, what string, status int) {
	t.Helper()
	if _, err := os.Stat(path); err != nil && what != "container" {
		return // before its first line was there
	}
	file, err := record.ReadFile(path)
	if err != nil {
		t.Fatalf("the run file cannot be read: %v", err)
	}
	bad := 0
	for _, trial := range file.Trials {
		if trial.Status == record.OK {
			continue
		}
		t.Logf("round %d, %s: %s: %s", trial.Round, trial.Cell.Network, trial.Status, trial.Reason)
		if strings.ContainsAny(trial.Reason, "\n") || trial.Reason == "" {
			t.Errorf("the reason is %q", trial.Reason)
		}
		// An engine that was killed while it published ports holds some until it is
		// started once more: in tests to come.
		if !strings.Contains(trial.Reason, "already allocated") && !strings.Contains(trial.Reason, "already in use") {
			bad++
		}
	}
	if what == "container" && bad > 1 {
		t.Errorf("exit status %d and %d trials failed after one container was killed", status, bad)
	}
}
