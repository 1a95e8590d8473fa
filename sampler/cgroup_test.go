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

	"nettoll/internal/testutil/iferr"
)

// procOf writes what the kernel tells a process about its control groups and the root of what is mounted at a path, and returns the
// path of its /proc.
func procOf(t *testing.T, groups, root, mounted string) string {
	t.Helper()
	proc := t.TempDir()
	write(t, filepath.Join(proc, "self/cgroup"), groups)
	write(t, filepath.Join(proc, "self/mountinfo"), "31 23 0:28 / /sys ro,nosuid - sysfs sysfs ro\n"+
		"40 31 0:38 /hidden "+mounted+" rw - tmpfs tmpfs rw\n41 31 0:39 "+root+" "+mounted+" ro,nosuid master:11 - cgroup2 cgroup rw,nsdelegate\n")
	return proc
}

func write(t *testing.T, path, text string) {
	t.Helper()
	iferr.Fatal(t, os.MkdirAll(filepath.Dir(path), 0o755))
	iferr.Fatal(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestCgroup(t *testing.T) {
	for version, want := range map[string]time.Duration{
		"one":   1_500_000_250 * time.Nanosecond,
		"joint": 91_023_456_789 * time.Nanosecond,
		"two":   2_750_123 * time.Microsecond,
	} {
		sys := filepath.Join("testdata/cgroup", version)
		proc := procOf(t, "9:memory:/docker/ab\n0::/\n", "/", filepath.Join(sys, "fs/cgroup"))
		if got, err := Cgroup(proc, sys); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", version, got, err, want)
		}
	}
}

// TestCgroupOfTheContainerOnly has trees of version 2, of which the container sees more than its own group.
func TestCgroupOfTheContainerOnly(t *testing.T) {
	for _, c := range []struct {
		name, group string
		root        string // of what is mounted
		own         string // where its group is in that
		wrong       string // error: its group cannot be found
	}{
		{"a namespace of its own", "/", "/", "", ""},
		{"the machine's namespace", "/system.slice/docker-ab.scope", "/", "system.slice/docker-ab.scope", ""},
		{"the machine's namespace, and its own tree", "/system.slice/docker-ab.scope", "/system.slice/docker-ab.scope", "", ""},
		{"the machine's namespace, and part of the tree", "/docker/ab", "/docker", "ab", ""},
		{"names that the kernel escapes", `/a b/docker-a\x2db`, `/a\040b/docker-a\134x2db`, "", ""},
		{"a tree from outside of the namespace", "/", "/../..", "", "its control group / is not below /../.., "},
		{"a process outside of the namespace", "/../ab", "/", "", "its control group /../ab is not below /, "},
		{"both outside of the namespace", "/../ab", "/..", "ab", ""},
		{"another group whose name begins alike", "/docker/abc", "/docker/ab", "", "its control group /docker/abc is not below /docker/ab, "},
		{"a group that is not there", "/docker/gone", "/", "", "docker/gone no cpu.stat"},
	} {
		sys := t.TempDir()
		mounted := filepath.Join(sys, "fs/cgroup")
		for _, other := range []string{"", "ab", "abc", "docker", "docker/ab"} {
			write(t, filepath.Join(mounted, other, "cpu.stat"), "usage_usec 99000000\n")
		}
		write(t, filepath.Join(mounted, c.own, "cpu.stat"), "usage_usec 2750123\n")
		want := 2_750_123 * time.Microsecond
		if c.wrong != "" {
			want = 0
		}
		got, err := Cgroup(procOf(t, "1:name=systemd:/else\n0::"+c.group+"\n", c.root, mounted), sys)
		if got != want || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, %v; want %v, %s", c.name, got, err, want, c.wrong)
		}
	}
}

func TestCgroupThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ file, text, groups, want string }{
		{"cpuacct/cpuacct.usage", "a lot\n", "", "cpuacct/cpuacct.usage: "},
		{"cpuacct/cpuacct.usage", "", "", "cpuacct/cpuacct.usage: "},
		{"cpu,cpuacct/cpuacct.usage", "-5\n", "", "cpu,cpuacct/cpuacct.usage: -5 is negative"},
		{"cpu.stat", "user_usec 1\nsystem_usec 2\n", "0::/\n", "cpu.stat: has no usage_usec"},
		{"cpu.stat", "usage_usec_total 5\n", "0::/\n", "cpu.stat: has no usage_usec"},
		{"cpu.stat", "usage_usec 99999999999999999999\n", "0::/\n", "cpu.stat: "},
		{"cpu.stat", "usage_usec 5\n", "4:memory:/\n", "self/cgroup names no control group of version 2"},
		{"memory.stat", "anon 5\n", "0::/\n", "fs/cgroup has no cpuacct.usage, and "},
	} {
		sys := t.TempDir()
		mounted := filepath.Join(sys, "fs/cgroup")
		write(t, filepath.Join(mounted, c.file), c.text)
		if got, err := Cgroup(procOf(t, c.groups, "/", mounted), sys); err == nil || got != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %q: %v, %v, want an error that says %q", c.file, c.text, got, err, c.want)
		}
		if got, err := Cgroup(procOf(t, c.groups, "/", "/elsewhere"), sys); err == nil || got != 0 {
			t.Errorf("%s of %q, which is not mounted: %v", c.file, c.text, got)
		}
	}
}

// TestCPULimitsAreCounted reads how often control groups had to wait, by version and by place of the limit.
func TestCPULimitsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		groups string
		want   uint64
	}{
		"no limit":            {map[string]string{"cpu.stat": "usage_usec 5\n"}, "0::/\n", 0},
		"version 2":           {map[string]string{"cpu.stat": "usage_usec 5\nnr_periods 9\nnr_throttled 3\n"}, "0::/\n", 3},
		"groups above, too":   {map[string]string{"cpu.stat": "nr_throttled 3\n", "a/b/cpu.stat": "nr_throttled 4\n"}, "0::/a/b\n", 7},
		"no other group":      {map[string]string{"cpu.stat": "nr_throttled 3\n", "b/cpu.stat": "nr_throttled 4\n"}, "0::/a\n", 3},
		"version 1":           {map[string]string{"cpu,cpuacct/cpu.stat": "nr_periods 9\nnr_throttled 5\nthrottled_time 7\n"}, "4:memory:/\n", 5},
		"version 1, outside":  {map[string]string{"cpu/cpu.stat": "nr_throttled 0\n", "cpu/a/cpu.stat": "nr_throttled 3\n", "cpu/a/b/cpu.stat": "nr_throttled 4\n"}, "4:memory:/m\n3:cpuacct,cpu:/a/b\n", 7},
		"version 1, inside":   {map[string]string{"cpu/cpu.stat": "nr_throttled 5\n"}, "3:cpu,cpuacct:/docker/ab\n", 5},
		"version 1, above":    {map[string]string{"cpu/cpu.stat": "nr_throttled 5\n"}, "3:cpu,cpuacct:/../other\n", 5},
		"by two names":        {map[string]string{"cpu/cpu.stat": "nr_throttled 5\n", "cpu,cpuacct/cpu.stat": "nr_throttled 5\n"}, "0::/\n", 5},
		"no controller of it": {map[string]string{"memory.stat": "anon 5\n"}, "", 0},
	} {
		sys := t.TempDir()
		mounted := filepath.Join(sys, "fs/cgroup")
		for file, text := range c.files {
			write(t, filepath.Join(mounted, file), text)
		}
		if got := throttled(procOf(t, c.groups, "/", mounted), sys); got != c.want {
			t.Errorf("%s: %d periods, want %d", name, got, c.want)
		}
	}
}

func TestAgentsAreAskedForTheirCgroup(t *testing.T) {
	handler, ok := Handlers()[MethodCgroup]
	if !ok {
		t.Fatal("no agent answers")
	}
	want, unknown := Cgroup("/proc", "/sys")
	got, err := handler(context.Background(), json.RawMessage("{}"))
	if used, _ := got.(time.Duration); used < want || (err == nil) != (unknown == nil) {
		t.Errorf("%v, %v, want at least %v, %v", got, err, want, unknown)
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
			iferr.Fatal(t, err)
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
