package cgroup_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"nettoll/internal/await"
	"nettoll/internal/cgroup"
	"nettoll/internal/testutil/iferr"
	"nettoll/platform/lab"
)

// group makes the control groups of a run as dockerd does, with one for a container, and holds them.
func group(t *testing.T, run string) (path string, hold *os.File) {
	t.Helper()
	hold = cgroup.Hold(run)
	if hold == nil {
		t.Fatal("a control group cannot be held")
	}
	path = hold.Name()
	t.Cleanup(func() {
		hold.Close()
		_ = os.Remove(path + "/container")
		_ = os.Remove(path)
	})
	iferr.Fatal(t, os.Mkdir(path+"/container", 0o755))
	return path, hold
}

// holdEnv makes the test program hold the control groups of the named run until it is killed.
const holdEnv = "NETTOLL_TEST_HOLD"

func holdUntilKilled(run string) {
	hold := cgroup.Hold(run)
	fmt.Println("held")
	time.Sleep(time.Hour)
	hold.Close()
}

// TestSweep checks that groups that a living process holds, and groups that contain a process, stay,
// whoever sweeps, as do those with other names than nettoll's; groups that a killed process held are removed.
func TestSweep(t *testing.T) {
	if !lab.AsRoot() {
		t.Skip("control groups are root's")
	}
	unique := rand.Uint32()
	run := func(i int) string { return fmt.Sprintf("%08x%04d", unique, i) }
	name := func(i int) string { return "nettoll-" + run(i) }
	empty, released := group(t, run(1))
	held, _ := group(t, run(2))
	used, usedHold := group(t, run(3))
	elsewhere, elsewhereHold := group(t, run(4))
	var foreign []string
	for _, name := range []string{"nottoll-" + run(5), "nettoll-ci-" + run(5)[:8], "nettoll-" + run(5)[:11], name(5) + "0", "nettoll-" + run(5)[:11] + "x"} {
		path := filepath.Join(filepath.Dir(empty), name)
		foreign = append(foreign, path)
		iferr.Fatal(t, os.MkdirAll(path+"/container", 0o755))
		t.Cleanup(func() { _ = os.Remove(path + "/container"); _ = os.Remove(path) })
	}

	sleep := exec.Command("sleep", "1000")
	iferr.Fatal(t, sleep.Start())
	end := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	defer end(sleep)
	iferr.Fatal(t, os.WriteFile(used+"/container/cgroup.procs", []byte(strconv.Itoa(sleep.Process.Pid)), 0))
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdEnv+"="+run(4))
	said, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	iferr.Fatal(t, err)
	defer end(other)
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	for _, hold := range []*os.File{released, usedHold, elsewhereHold} {
		hold.Close()
	}

	there := func(path string) bool { _, err := os.Stat(path + "/container"); return err == nil }
	for tries := 1; ; tries++ {
		for _, i := range []int{2, 3, 4} { // even if their own names are given
			if removed, err := cgroup.Sweep(run(i)); err != nil || len(removed) > 0 {
				t.Errorf("sweeping %s removed %v, %v", name(i), removed, err)
			}
		}
		if there(empty) {
			break
		}
		if tries == 5 {
			t.Error("a run has swept the control group of another")
			break
		}
		iferr.Fatal(t, os.MkdirAll(empty+"/container", 0o755)) // others may sweep all groups at the same time
	}
	listed := cgroup.Left()
	swept := func(run, path string) { // in the end: others may be looking at the group, too, and hold it meanwhile
		t.Helper()
		err := await.Until(t.Context(), time.Minute, 5*time.Millisecond, func(context.Context) (missing, err error) {
			_, err = cgroup.Sweep(run)
			if there(path) {
				missing = fmt.Errorf("%s is there, though nobody holds it any more", path)
			}
			return missing, err
		})
		iferr.Error(t, err)
	}
	swept("", empty)
	for _, path := range slices.Concat([]string{empty, held, used, elsewhere}, foreign) {
		goes := path == empty
		// Others may sweep at the same time.
		if there(path) == goes || slices.Contains(listed, filepath.Base(path)) && !goes {
			t.Errorf("%s: listed in %v, is there: %v; it should go: %v", path, listed, there(path), goes)
		}
	}
	end(sleep)
	end(other)
	for path, i := range map[string]int{used: 3, elsewhere: 4} {
		swept(run(i), path)
	}
}
