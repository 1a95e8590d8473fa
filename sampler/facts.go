package sampler

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
	"nettoll/internal/netns"
	"nettoll/internal/wrap"
	"nettoll/record"
)

// Machine describes the machine that this process runs on.
func Machine(proc, sys string) (record.Machine, error) {
	m := record.Machine{
		OS:     osName("/etc/os-release"),
		Kernel: release(),
		Arch:   runtime.GOARCH,
	}
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return m, fmt.Errorf("sampler: %w", err)
	}
	if infos, err := fs.CPUInfo(); err == nil && len(infos) > 0 {
		m.CPUModel = cpuModel(infos[0])
		if slices.Contains(infos[0].Flags, "hypervisor") {
			m.Virtual = "yes"
		}
	}
	if text, err := read(filepath.Join(proc, "cpuinfo")); err == nil && emulated.CPU(text) {
		m.Virtual = record.Emulated
	}
	if mem, err := fs.Meminfo(); err == nil && mem.MemTotalBytes != nil {
		m.MemoryB = *mem.MemTotalBytes
	}
	m.CPUs, err = usableCPUs(sys)
	m.Power = Power(sys, m.CPUs)
	return m, err
}

// Power returns what chooses the frequency and the idle states of CPUs; nil if the kernel says nothing about it. sys is "/sys".
func Power(sys string, cpus []record.CPU) *record.Power {
	at := filepath.Join(sys, "devices/system/cpu")
	text := func(parts ...string) string { // "" if there is no such file, and "none" if there is no such driver
		value, _ := read(filepath.Join(append([]string{at}, parts...)...))
		return strings.TrimPrefix(value, "none")
	}
	p := record.Power{IdleDriver: text("cpuidle/current_driver")}
	if p.IdleDriver != "" {
		p.IdleGovernor = cmp.Or(text("cpuidle/current_governor"), text("cpuidle/current_governor_ro"))
	}
	for _, c := range cpus {
		scaling := fmt.Sprintf("cpu%d/cpufreq", c.ID)
		if governor := text(scaling, "scaling_governor"); governor != "" {
			p.FrequencyDriver, p.Governors = text(scaling, "scaling_driver"), record.AddNew(p.Governors, governor)
		}
	}
	switch boost, without := text("cpufreq/boost"), text("intel_pstate/no_turbo"); {
	case boost != "":
		p.Boost = new(boost == "1")
	case without != "":
		p.Boost = new(without == "0")
	}
	if p.Frequency() == "" && p.Idle() == "" && p.Boost == nil {
		return nil
	}
	return &p
}

// release returns the release of the kernel.
func release() string {
	var uts unix.Utsname
	_ = unix.Uname(&uts) // fails for bad addresses only
	return unix.ByteSliceToString(uts.Release[:])
}

// cpuModel returns the name of a CPU's model. On arm64 the kernel has no names, only the numbers of who designed it and
// of the model, from the register MIDR_EL1.
func cpuModel(c procfs.CPUInfo) string {
	if runtime.GOARCH == "arm64" {
		return fmt.Sprintf("implementer %s part %s", c.VendorID, c.Model)
	}
	return c.ModelName
}

// MostCPUs is how many CPUs a kernel can be built for (CONFIG_NR_CPUS).
const MostCPUs = 8192

// StaysOn reports whether a thread may run on exactly the CPUs that it was given. The kernel gives it others if its control group may
// not use those any more, or if they go offline. A thread that has ended stays.
func StaysOn(thread int, cpus ...int) bool {
	on := unix.NewCPUSet(MostCPUs)
	if err := unix.SchedGetaffinityDynamic(thread, on); err != nil {
		return true
	}
	return on.Count() == len(cpus) && !slices.ContainsFunc(cpus, func(c int) bool { return !on.IsSet(c) })
}

// usableCPUs returns the CPUs that this process may run on.
func usableCPUs(sys string) ([]record.CPU, error) {
	set := unix.NewCPUSet(MostCPUs)
	if err := unix.SchedGetaffinityDynamic(0, set); err != nil {
		return nil, fmt.Errorf("sampler: sched_getaffinity: %w", err)
	}
	var cpus []record.CPU
	for id := 0; len(cpus) < set.Count(); id++ {
		if !set.IsSet(id) {
			continue
		}
		topology := filepath.Join(sys, "devices/system/cpu", fmt.Sprintf("cpu%d", id), "topology")
		c := record.CPU{ID: id}
		var err error
		if c.Package, err = number(filepath.Join(topology, "physical_package_id"), 0); err != nil {
			return nil, err
		}
		// The core is named by its first CPU: the kernel's core_id begins anew in each cluster of an arm64 machine, and in
		// each die of others.
		if c.Core, err = number(filepath.Join(topology, "thread_siblings_list"), id); err != nil {
			return nil, err
		}
		cpus = append(cpus, c)
	}
	slow := slowCPUs(sys, cpus)
	for i := range cpus {
		cpus[i].Slow = slow(cpus[i].ID)
	}
	return cpus, nil
}

// slowCPUs tells which CPUs are of a kind that is built for low power. Kernels for Intel's hybrid CPUs list them by kind, with the
// counters that each kind has (arch/x86/events/intel/core.c). Others give each CPU a capacity, the fastest 1024
// (Documentation/scheduler/sched-capacity.rst): those that are slow have about half of it or less, and others of different
// speed hardly less than the fastest.
func slowCPUs(sys string, cpus []record.CPU) func(id int) bool {
	slow := map[int]bool{}
	for _, kind := range []string{"cpu_atom", "cpu_lowpower"} {
		for _, id := range cpuList(filepath.Join(sys, "devices", kind, "cpus")) {
			slow[id] = true
		}
	}
	capacity := func(cpu string) int {
		n, _ := number(filepath.Join(cpu, "cpu_capacity"), 0)
		return n
	}
	at := filepath.Join(sys, "devices/system/cpu")
	all, _ := filepath.Glob(filepath.Join(at, "cpu[0-9]*")) // also those that this process may not use: they may be the fast ones
	fastest := record.Most(all, capacity)
	for _, c := range cpus {
		slow[c.ID] = slow[c.ID] || 3*capacity(filepath.Join(at, fmt.Sprintf("cpu%d", c.ID))) < 2*fastest
	}
	return func(id int) bool { return slow[id] }
}

// cpuList reads a file that holds a list of CPUs, such as 0-3,8; it returns nil if there is no such file.
func cpuList(path string) (ids []int) {
	text, _ := read(path)
	for _, part := range strings.Split(text, ",") {
		first, last, several := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		if !several {
			to = from
		}
		for id := from; err == nil && id <= min(to, MostCPUs); id++ {
			ids = append(ids, id)
		}
	}
	return ids
}

// number reads a file that holds one number, or the first of a list of CPUs, such as 0-1 or 0,8. If the file does not exist, as on
// machines that do not show their topology, it returns the assumed number.
func number(path string, assumed int) (int, error) {
	text, err := read(path)
	if errors.Is(err, os.ErrNotExist) {
		return assumed, nil
	}
	if err != nil {
		return 0, err
	}
	if end := strings.IndexAny(text, ",-"); end > 0 { // not the sign of a number
		text = text[:end]
	}
	n, err := strconv.Atoi(text)
	return n, wrap.Error(err, "sampler: %s", path)
}

func osName(path string) string {
	text, _ := read(path) // empty if there is no such file
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(v, "\"\n")
		}
	}
	return ""
}

// Origin identifies the machine that an agent runs on.
type Origin struct {
	// Boot is the kernel's random id of this boot: agents with the same id are on the same
	// machine, whatever name their containers have for it.
	Boot string
	// Processes identifies the PID namespace that it is in: agents of one machine with the same id see the same processes.
	Processes string
	// Clock is how far the monotonic clock of its time namespace is ahead of the machine's, in seconds and nanoseconds ("100 0"); "" if
	// it is not: agents of one machine with the same value have the same clock. Engines give each container a time namespace.
	Clock   string
	Machine record.Machine
}

// clockShift returns Origin.Clock. Before Linux 5.6 there are no time namespaces (time_namespaces(7)).
func clockShift(proc string) string {
	text, _ := read(filepath.Join(proc, "self/timens_offsets"))
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "monotonic" && (f[1] != "0" || f[2] != "0") {
			return f[1] + " " + f[2]
		}
	}
	return ""
}

// Boot returns what Origin has of this machine, read below proc.
func Boot(proc string) (string, error) { return read(filepath.Join(proc, "sys/kernel/random/boot_id")) }

// FindOrigin returns the origin of this process. It reads below proc and sys.
func FindOrigin(proc, sys string) (o Origin, err error) {
	if o.Boot, err = Boot(proc); err != nil {
		return o, err
	}
	o.Processes, _ = os.Readlink(filepath.Join(proc, "self/ns/pid")) // "" where it is not shown
	o.Clock = clockShift(proc)
	o.Machine, err = Machine(proc, sys)
	o.Machine.Root = netns.IsRoot()
	return o, err
}
