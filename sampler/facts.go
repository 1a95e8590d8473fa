package sampler

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/record"
)

// Machine says what this process runs on.
func Machine(proc, sys string) (record.Machine, error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return record.Machine{}, fmt.Errorf("sampler: uname: %w", err)
	}
	m := record.Machine{
		OS:     osName("/etc/os-release"),
		Kernel: unix.ByteSliceToString(uts.Release[:]),
		Arch:   runtime.GOARCH,
	}
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return m, fmt.Errorf("sampler: %w", err)
	}
	if infos, err := fs.CPUInfo(); err == nil && len(infos) > 0 {
		m.CPUModel = infos[0].ModelName
		for _, flag := range infos[0].Flags {
			if flag == "hypervisor" {
				m.Virtual = "yes"
			}
		}
	}
	if mem, err := fs.Meminfo(); err == nil && mem.MemTotalBytes != nil {
		m.MemoryB = *mem.MemTotalBytes
	}
	m.CPUs, err = usableCPUs(sys)
	return m, err
}

// usableCPUs are those that this process may run on.
func usableCPUs(sys string) ([]record.CPU, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sampler: sched_getaffinity: %w", err)
	}
	var cpus []record.CPU
	for id := 0; len(cpus) < set.Count(); id++ {
		if !set.IsSet(id) {
			continue
		}
		topology := filepath.Join(sys, "devices/system/cpu", fmt.Sprintf("cpu%d", id), "topology")
		cpus = append(cpus, record.CPU{
			ID:      id,
			Package: number(filepath.Join(topology, "physical_package_id")),
			Core:    number(filepath.Join(topology, "core_id")),
		})
	}
	return cpus, nil
}

// number reads a file with one number; 0 where there is none, as on machines
// that do not show their topology.
func number(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return n
}

func osName(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}
