package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nettoll/docker/engine"
	"nettoll/internal/cgroup"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform/platformtest"
	"nettoll/record"
)

// crashRun is a run that random crashes hit in every phase: building, measuring, writing, and removing networks.
var crashRun = []string{
	"run", "vxlan", "published-proxy", "--hosts", "2", "--workloads", "tcp_rr", "--placement", "free",
	"-t", "50ms", "--warmup", "50ms", "--min-rounds", "3", "--max-rounds", "3", "-o", "x.ndjson",
}

// TestCrash kills nettoll at random moments. NETTOLL_CRASHES sets how many times, NETTOLL_SEED the random seed.
func TestCrash(t *testing.T) {
	n, r := crashes(t, 6, 2)
	for i := range n {
		// Half of them early, when most networks are built; a third hits the process inside.
		after := time.Duration(r.Int64N(int64(1500 * time.Millisecond)))
		if i%2 == 0 {
			after /= 8
		}
		within := i%3 == 2
		t.Run(fmt.Sprintf("%d after %s within=%v", i, after.Round(time.Millisecond), within), func(t *testing.T) {
			crash(t, after, within)
		})
	}
}

// crashes returns the number of crashes, at most short with -short, and the random source of their moments.
func crashes(t *testing.T, many, short int) (int, *rand.Rand) {
	t.Helper()
	n, seed := number(t, "NETTOLL_CRASHES", many), number(t, "NETTOLL_SEED", int(time.Now().UnixNano()%1e6))
	if testing.Short() {
		n = min(n, short)
	}
	t.Logf("NETTOLL_SEED=%d", seed)
	return n, rand.New(rand.NewPCG(uint64(seed), 0))
}

func number(t *testing.T, env string, otherwise int) int {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s is no number", env, text)
	}
	return n
}

func crash(t *testing.T, after time.Duration, within bool) {
	dir := t.TempDir()
	was := before(t)
	p := start(t, dir, crashRun...)
	time.Sleep(after)
	made := namespacesOf(t)
	if pid := inside(t, p); within && pid != 0 {
		iferr.Fatal(t, syscall.Kill(pid, syscall.SIGKILL))
		p.ends(t, exitFailure)
	} else {
		p.signal(t, syscall.SIGKILL)
		p.status(t)
	}
	was.check(t, made)

	path := filepath.Join(dir, "x.ndjson")
	for _, name := range names(t, dir) {
		if name != "x.ndjson" {
			t.Errorf("%s is left", name)
		}
	}
	kept := 0
	if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
		kept = trials(path)
		file := read(t, path)
		if len(file.Trials) != kept {
			t.Errorf("%d trials are read of %d", len(file.Trials), kept)
		}
	} else {
		_ = os.Remove(path) // before its first line was written
	}
	args := []string{"run", "--resume", "x.ndjson"}
	if _, err := os.Stat(path); err != nil {
		args = crashRun
	}
	again := start(t, dir, args...)
	again.ends(t, exitOK)
	complete(t, path)
	was.check(t, made)
}

// complete checks that a run file has every cell exactly once in every round, and the baseline once in every part of it.
func complete(t *testing.T, path string) {
	t.Helper()
	file := read(t, path)
	type slot struct {
		key         string
		round, part int
	}
	seen := map[slot]int{}
	skipped := map[string]bool{}
	for _, trial := range file.Trials {
		seen[slot{trial.Cell.Key(), trial.Round, trial.Part}]++
		switch trial.Status {
		case record.Skipped:
			skipped[trial.Cell.Key()] = true
		case record.OK:
		default:
			t.Errorf("%s in round %d: %s: %s", trial.Cell.Key(), trial.Round, trial.Status, trial.Reason)
		}
	}
	for _, c := range file.Run.Cells {
		for round := 1; round <= file.Run.Settings.MaxRounds; round++ {
			var all, parts int
			for at, n := range seen {
				if at.key == c.Key() && at.round == round {
					all, parts = all+n, parts+1
					if base := seen[slot{c.Against().Key(), round, at.part}]; base != 1 {
						t.Errorf("%s in round %d, part %d: its baseline is there %d times", at.key, round, at.part, base)
					}
				}
			}
			if (all != 1 && !c.IsNative() || all < 1 || all != parts) && !skipped[c.Key()] {
				t.Errorf("%s is %d times in round %d, in %d parts", c.Key(), all, round, parts)
			}
		}
	}
	if n := len(file.Ends); n == 0 || file.Ends[n-1].Reason != record.EndMaxRounds {
		t.Errorf("ends are %+v", file.Ends)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	iferr.Fatal(t, err)
	return record.Each(entries, os.DirEntry.Name)
}

// engineGroups returns the names of the existing control groups of private engines, except those of older ones.
func engineGroups(t *testing.T, older ...string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/nettoll-*", "/sys/fs/cgroup/*/nettoll-*"} {
		paths, err := filepath.Glob(pattern)
		iferr.Fatal(t, err)
		for _, path := range paths {
			if name := filepath.Base(path); !slices.Contains(older, name) {
				names = record.AddNew(names, name)
			}
		}
	}
	return names
}

// TestPrivateEngineCrash kills a run on a private engine while its containers exist, each of its processes in turn,
// and checks that none of their control groups is left.
func TestPrivateEngineCrash(t *testing.T) {
	platformtest.Require(t, "dockerd", engine.Available())
	for _, which := range []string{"the outer process", "the first process", "the process inside"} {
		t.Run(which, func(t *testing.T) {
			was, dir := before(t), t.TempDir()
			p := start(t, dir, "run", "docker:bridge", "--baseline", "docker:bridge", "--private-engine", "--workloads", "tcp_rr", "--placement", "free",
				"-t", "10s", "--min-rounds", "1", "--max-rounds", "1", "-o", "x.ndjson")
			var group string // other runs on this machine have others
			until(t, "there are containers", func() bool {
				if p.ended() {
					t.Fatal(p.said())
				}
				if file, err := record.ReadFile(filepath.Join(dir, "x.ndjson")); err == nil {
					group = cgroup.Of(file.Run.ID)
				}
				procs, _ := filepath.Glob("/sys/fs/cgroup/*/" + group + "/*/cgroup.procs")
				unified, _ := filepath.Glob("/sys/fs/cgroup/" + group + "/*/cgroup.procs")
				return group != "" && len(procs)+len(unified) > 0
			})
			pid := p.Process.Pid
			if which != "the outer process" {
				pid = inside(t, p)
			}
			if which == "the process inside" {
				for _, child := range childrenOf(pid) {
					if strings.Contains(ours(t)[child], " run ") {
						pid = child
					}
				}
			}
			iferr.Fatal(t, syscall.Kill(pid, syscall.SIGKILL))
			status := p.status(t)
			if which != "the outer process" && (status != exitFailure || !strings.Contains(p.err.String(), "did not end by itself: signal: killed")) {
				t.Errorf("exit status %d; it said:\n%s", status, p.said())
			}
			until(t, "its control groups are gone", func() bool { return !slices.Contains(engineGroups(t), group) })
			was.check(t, nil)
		})
	}
}
