package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"nettoll/internal/testutil/iferr"
	"nettoll/record"
)

func TestMachineIsReadFromProcAndSys(t *testing.T) {
	m, err := Machine("testdata/proc", "testdata/sys")
	iferr.Fatal(t, err)
	if m.MemoryB != 8_000_000*1024 {
		t.Errorf("memory is %d bytes, want %d", m.MemoryB, 8_000_000*1024)
	}
	if runtime.GOARCH == "amd64" && (m.CPUModel != "Invented CPU @ 2.50GHz" || m.Virtual != "yes") {
		t.Errorf("model %q, virtual %q", m.CPUModel, m.Virtual)
	}
	if m.Kernel == "" || m.Arch != runtime.GOARCH {
		t.Errorf("kernel %q on %q", m.Kernel, m.Arch)
	}
	if len(m.CPUs) == 0 {
		t.Fatal("no CPUs")
	}
	for _, c := range m.CPUs {
		want := record.CPU{ID: c.ID, Package: c.ID / 2, Core: c.ID / 2 * 2}
		if c.ID < 4 && c != want {
			t.Errorf("CPU is %+v, want %+v", c, want)
		}
	}
	if !slices.IsSortedFunc(m.CPUs, func(a, b record.CPU) int { return a.ID - b.ID }) {
		t.Errorf("CPUs out of order: %+v", m.CPUs)
	}
}

func TestCPUsWithoutTopologyAreCoresOfOnePackage(t *testing.T) {
	cpus, err := usableCPUs(t.TempDir())
	iferr.Fatal(t, err)
	for _, c := range cpus {
		if want := (record.CPU{ID: c.ID, Core: c.ID}); c != want {
			t.Errorf("CPU is %+v, want %+v", c, want)
		}
	}
}

// TestSlowCPUs checks which CPUs are told to be slow, by lists of their kinds and by their capacities.
func TestSlowCPUs(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []int
	}{
		"all alike":    {nil, nil},
		"two kinds":    {map[string]string{"cpu_core/cpus": "0-1", "cpu_atom/cpus": "2-3"}, []int{2, 3}},
		"three kinds":  {map[string]string{"cpu_core/cpus": "0", "cpu_atom/cpus": "1,2", "cpu_lowpower/cpus": "3"}, []int{1, 2, 3}},
		"by capacity":  {map[string]string{"system/cpu/cpu0/cpu_capacity": "446", "system/cpu/cpu1/cpu_capacity": "446", "system/cpu/cpu2/cpu_capacity": "1024", "system/cpu/cpu3/cpu_capacity": "871"}, []int{0, 1}},
		"others fast":  {map[string]string{"system/cpu/cpu0/cpu_capacity": "446", "system/cpu/cpu1/cpu_capacity": "446", "system/cpu/cpu2/cpu_capacity": "446", "system/cpu/cpu3/cpu_capacity": "446", "system/cpu/cpu4/cpu_capacity": "1024"}, []int{0, 1, 2, 3}},
		"equal speeds": {map[string]string{"system/cpu/cpu0/cpu_capacity": "1024", "system/cpu/cpu1/cpu_capacity": "1024", "system/cpu/cpu2/cpu_capacity": "1024", "system/cpu/cpu3/cpu_capacity": "1024"}, nil},
	} {
		sys := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(sys, "devices", path)
			iferr.Fatal(t, os.MkdirAll(filepath.Dir(path), 0o755))
			iferr.Fatal(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
		}
		cpus := []record.CPU{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}}
		slow := slowCPUs(sys, cpus)
		var got []int
		for _, c := range cpus {
			if slow(c.ID) {
				got = append(got, c.ID)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: slow are %v, want %v", name, got, c.want)
		}
	}
}

// TestCoresOfClusters checks that cores whose core_id repeats, as in each cluster of an arm64 machine, are told apart.
func TestCoresOfClusters(t *testing.T) {
	cpus, err := usableCPUs(t.TempDir())
	iferr.Fatal(t, err)
	for siblings, core := range map[string]func(id int) int{
		"%d":   func(id int) int { return id },
		"3,%d": func(int) int { return 3 },
		"2-%d": func(int) int { return 2 },
	} {
		sys := t.TempDir()
		for _, c := range cpus {
			topology := filepath.Join(sys, "devices/system/cpu", fmt.Sprintf("cpu%d", c.ID), "topology")
			iferr.Fatal(t, os.MkdirAll(topology, 0o755))
			iferr.Fatal(t, os.WriteFile(filepath.Join(topology, "core_id"), []byte("0\n"), 0o644))
			iferr.Fatal(t, os.WriteFile(filepath.Join(topology, "thread_siblings_list"), fmt.Appendf(nil, siblings+"\n", c.ID), 0o644))
		}
		got, err := usableCPUs(sys)
		iferr.Fatal(t, err)
		for _, c := range got {
			if want := core(c.ID); c.Core != want {
				t.Errorf("siblings %s: CPU %d is of core %d, want %d", siblings, c.ID, c.Core, want)
			}
		}
	}
}

func TestTopologyThatIsNoNumberIsAnError(t *testing.T) {
	cpus, err := usableCPUs(t.TempDir())
	if err != nil || len(cpus) == 0 {
		t.Fatal(cpus, err)
	}
	for _, name := range []string{"thread_siblings_list", "physical_package_id"} {
		sys := t.TempDir()
		var path string
		for _, c := range cpus {
			dir := filepath.Join(sys, "devices/system/cpu", fmt.Sprintf("cpu%d", c.ID), "topology")
			path = filepath.Join(dir, name)
			iferr.Fatal(t, os.MkdirAll(dir, 0o755))
			iferr.Fatal(t, os.WriteFile(path, []byte("0x1\n"), 0o644))
		}
		if _, err := Machine("testdata/proc", sys); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, want one that names %s", err, path)
		}
	}
}

func TestOSNameIsThePrettyOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "os-release")
	text := "NAME=\"Invented\"\nPRETTY_NAME=\"Invented Linux 7 (odd)\"\nID=invented\n"
	iferr.Fatal(t, os.WriteFile(path, []byte(text), 0o644))
	if got := osName(path); got != "Invented Linux 7 (odd)" {
		t.Errorf("got %q", got)
	}
	if got := osName(path + ".none"); got != "" {
		t.Errorf("without the file: %q", got)
	}
}

// TestPower reads what chooses the frequency of CPUs from files as kernels have them.
func TestPower(t *testing.T) {
	cpus := []record.CPU{{ID: 0}, {ID: 1}}
	for name, c := range map[string]struct {
		files           map[string]string
		frequency, idle string
		follows         bool
	}{
		"nothing":    {nil, "", "", false},
		"no drivers": {map[string]string{"cpuidle/current_driver": "none", "cpuidle/current_governor": "menu"}, "", "", false},
		"a guest": {map[string]string{"cpuidle/current_driver": "haltpoll", "cpuidle/current_governor": "haltpoll"},
			"", "haltpoll", false},
		"Intel's own choice": {map[string]string{
			"cpu0/cpufreq/scaling_driver": "intel_pstate", "cpu0/cpufreq/scaling_governor": "powersave", "cpu1/cpufreq/scaling_driver": "intel_pstate",
			"cpu1/cpufreq/scaling_governor": "powersave", "intel_pstate/no_turbo": "0", "cpuidle/current_driver": "intel_idle", "cpuidle/current_governor_ro": "menu",
		}, "intel_pstate powersave, boost on", "intel_idle menu", true},
		"without turbo": {map[string]string{
			"cpu0/cpufreq/scaling_driver": "intel_pstate", "cpu0/cpufreq/scaling_governor": "performance", "intel_pstate/no_turbo": "1",
		}, "intel_pstate performance, boost off", "", false},
		"the lowest": {map[string]string{
			"cpu0/cpufreq/scaling_driver": "acpi-cpufreq", "cpu0/cpufreq/scaling_governor": "powersave", "cpufreq/boost": "1",
		}, "acpi-cpufreq powersave, boost on", "", false},
		"different ones": {map[string]string{
			"cpu0/cpufreq/scaling_driver": "amd-pstate", "cpu0/cpufreq/scaling_governor": "performance", "cpu1/cpufreq/scaling_driver": "amd-pstate",
			"cpu1/cpufreq/scaling_governor": "schedutil", "cpufreq/boost": "0", "cpu2/cpufreq/scaling_governor": "userspace",
		}, "amd-pstate performance/schedutil, boost off", "", true},
		"only boost": {map[string]string{"cpufreq/boost": "1"}, "", "", false},
	} {
		sys := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(sys, "devices/system/cpu", file)
			iferr.Fatal(t, os.MkdirAll(filepath.Dir(path), 0o755))
			iferr.Fatal(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
		}
		p := Power(sys, cpus)
		if p.Frequency() != c.frequency || p.Idle() != c.idle || p.FollowsLoad() != c.follows {
			t.Errorf("%s: %q, %q, follows the load: %v", name, p.Frequency(), p.Idle(), p.FollowsLoad())
		}
		if known := c.frequency != "" || c.idle != "" || name == "only boost"; (p != nil) != known {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestClockShift checks that time namespaces without a shift have the machine's clock.
func TestClockShift(t *testing.T) {
	for text, want := range map[string]string{
		"monotonic           0         0\nboottime            7         0\n": "",
		"monotonic        -100         5\nboottime            0         0\n": "-100 5",
		"monotonic           0         5\n":                                  "0 5",
	} {
		proc := t.TempDir()
		iferr.Fatal(t, os.Mkdir(filepath.Join(proc, "self"), 0o700))
		iferr.Fatal(t, os.WriteFile(filepath.Join(proc, "self/timens_offsets"), []byte(text), 0o600))
		if got := clockShift(proc); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := clockShift(t.TempDir()); got != "" {
		t.Errorf("where there is none: %q", got)
	}
}
