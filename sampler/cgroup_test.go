package sampler

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCgroup(t *testing.T) {
	for version, want := range map[string]time.Duration{
		"one":   1_500_000_250 * time.Nanosecond,
		"joint": 91_023_456_789 * time.Nanosecond,
		"two":   2_750_123 * time.Microsecond,
	} {
		if got, err := Cgroup(filepath.Join("testdata/cgroup", version)); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", version, got, err, want)
		}
	}
}

func TestCgroupThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"cpuacct/cpuacct.usage", "a lot\n", "cpuacct/cpuacct.usage: "},
		{"cpuacct/cpuacct.usage", "", "cpuacct/cpuacct.usage: "},
		{"cpu,cpuacct/cpuacct.usage", "-5\n", "cpu,cpuacct/cpuacct.usage: -5 is negative"},
		{"cpu.stat", "user_usec 1\nsystem_usec 2\n", "cpu.stat: has no usage_usec"},
		{"cpu.stat", "usage_usec_total 5\n", "cpu.stat: has no usage_usec"},
		{"cpu.stat", "usage_usec 99999999999999999999\n", "cpu.stat: "},
		{"memory.stat", "anon 5\n", "fs/cgroup has neither cpuacct.usage nor cpu.stat"},
	} {
		sys := t.TempDir()
		path := filepath.Join(sys, "fs/cgroup", c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Cgroup(sys); err == nil || got != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %q: %v, %v, want an error that says %q", c.file, c.text, got, err, c.want)
		}
	}
}

func TestAgentsAreAskedForTheirCgroup(t *testing.T) {
	handler, ok := Handlers()[MethodCgroup]
	if !ok {
		t.Fatal("no agent answers")
	}
	want, err := Cgroup("/sys")
	if err != nil {
		t.Skip(err)
	}
	got, err := handler(context.Background(), json.RawMessage("{}"))
	if used, is := got.(time.Duration); err != nil || !is || used < want {
		t.Errorf("%v, %v, want at least %v", got, err, want)
	}
}

func TestContainerTimeOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A container that uses two CPUs from its beginning on, and answers slowly.
		began := time.Now()
		read := func() ProcessTime {
			got, err := Container(func() (time.Duration, error) {
				time.Sleep(time.Second)
				used := 2 * time.Since(began)
				time.Sleep(time.Second)
				return used, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		from := read()
		time.Sleep(3 * time.Second)
		to := read()
		for window, want := range map[float64]float64{1: 2, 0.25: 0.5} {
			if got := Between("c1", from, to, window); got.Name != "c1" || math.Abs(got.Total()-want) > 1e-9 {
				t.Errorf("in a window of %v s: %+v, want %v", window, got, want)
			}
		}
		if back := Between("c1", to, from, 1); back.Total() != 0 {
			t.Errorf("%+v in negative time", back)
		}
	})
	gone := errors.New("gone")
	if _, err := Container(func() (time.Duration, error) { return 0, gone }); !errors.Is(err, gone) {
		t.Errorf("error is %v", err)
	}
}
