package sampler_test

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"nettoll/internal/testutil/iferr"
	"nettoll/sampler"
)

// burner starts a child that only uses CPU time.
func burner(t *testing.T) *os.Process {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	iferr.Fatal(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd.Process
}

func TestCPUTimeOfAChild(t *testing.T) {
	child := burner(t)
	from, err := sampler.Process(child.Pid)
	iferr.Fatal(t, err)
	// On a busy machine the child gets a CPU sooner or later.
	for deadline := time.Now().Add(30 * time.Second); ; {
		time.Sleep(50 * time.Millisecond)
		to, err := sampler.Process(child.Pid)
		iferr.Fatal(t, err)
		got := sampler.Between("burner", from, to, 1)
		if got.Total() > 0 {
			if got.Name != "burner" || got.User < 0 || got.System < 0 || math.IsNaN(got.User) {
				t.Errorf("got %+v", got)
			}
			if got.User+got.System != got.Total() {
				t.Errorf("%v user and %v system are not %v", got.User, got.System, got.Total())
			}
			twice := sampler.Between("burner", from, to, 2)
			if math.Abs(twice.Total()-2*got.Total()) > 1e-9 {
				t.Errorf("%v in a window twice as long as one with %v", twice.Total(), got.Total())
			}
			if back := sampler.Between("burner", to, from, 1); back.Total() != 0 {
				t.Errorf("%v in negative time", back.Total())
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the child has used no CPU time")
		}
	}
}

func TestCPUTimeOfAProcessThatIsGone(t *testing.T) {
	cmd := exec.Command("true")
	iferr.Fatal(t, cmd.Run())
	if _, err := sampler.Process(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), "CPU time of process") {
		t.Errorf("error is %v", err)
	}
}
