package sampler

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"nettoll/internal/emulated"
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
		if emulated.CPU(m.CPUModel) {
			m.Virtual = record.Emulated
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
		c := record.CPU{ID: id}
		var err error
		if c.Package, err = number(filepath.Join(topology, "physical_package_id"), 0); err != nil {
			return nil, err
		}
		if c.Core, err = number(filepath.Join(topology, "core_id"), id); err != nil {
			return nil, err
		}
		cpus = append(cpus, c)
	}
	return cpus, nil
}

// number reads a file with one number. Where there is no such file, as on
// machines that do not show their topology, it is the assumed one.
func number(path string, assumed int) (int, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return assumed, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sampler: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("sampler: %s: %w", path, err)
	}
	return n, nil
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
