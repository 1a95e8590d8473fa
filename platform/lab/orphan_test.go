package lab_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nettoll/platform"
)

// dead lists the processes of the lab that have ended and that nobody has reaped.
func dead(t *testing.T) (all []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
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

// asleep is how many programs sleep.
func asleep(t *testing.T) (n int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		if b, err := os.ReadFile(path); err == nil && string(b) == "sleep\n" {
			n++
		}
	}
	return n
}

// TestOrphansAreReaped has programs leave many children that end later, while others are
// waited for: those must be told how they end.
func TestOrphansAreReaped(t *testing.T) {
	const orphans, programs = 200, 100
	e := endpoints(t)[1]
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do (setsid sleep 0.$((i %% 10)) & ) ; i=$((i+1)); done", orphans)
	p, err := e.Start(t.Context(), platform.Command{Path: "sh", Args: []string{"-c", script}})
	if err != nil {
		t.Fatal(err)
	}
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
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		asleep, left := asleep(t), dead(t)
		if asleep == 0 && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d are asleep, and %d have ended and are not reaped, such as %s", asleep, len(left), left[:min(1, len(left))])
		}
	}
}
