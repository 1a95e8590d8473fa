package engine

import (
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/procfs"

	"nettoll/sampler"
)

// processLabel marks everything that nettoll makes with the process that made it: the boot id of its
// machine, its PID namespace, its PID there, and its start in clock ticks since the boot, separated
// by slashes.
const processLabel = "nettoll.process"

// initialNamespace is the PID namespace of the machine itself, in which every process is visible:
// the kernel's PROC_PID_INIT_INO.
const initialNamespace = "4026531836"

// State is whether a run is still going on.
type State string

// The states. Unknown is a run on another machine, in a container that cannot be inspected from here, or
// before the last boot: whether it is still going on cannot be determined here.
const (
	Ended   State = "ended"
	Going   State = "going on"
	Unknown State = "unknown"
)

// thisProcess returns the label's value for this process; "" if /proc does not have it.
func thisProcess() string {
	p, err := procfs.Self()
	if err != nil {
		return ""
	}
	label, _ := labelOf(p)
	return label
}

// labelOf returns the label's value for a process.
func labelOf(p procfs.Proc) (string, error) {
	in, err := namespaceOf(p)
	if err != nil {
		return "", err
	}
	own, err := identify(p)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{thisBoot(), in, own}, "/"), nil
}

// thisBoot identifies this boot of the kernel; "" where that cannot be read.
func thisBoot() string {
	boot, _ := sampler.Boot("/proc")
	return boot
}

// namespaceOf returns the number of a process's PID namespace, whose name is "pid:[4026531836]".
func namespaceOf(p procfs.Proc) (string, error) {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.PID))
	return strings.TrimSuffix(strings.TrimPrefix(name, "pid:["), "]"), err
}

// identify returns the PID of a process in its own PID namespace, and its start.
func identify(p procfs.Proc) (string, error) {
	status, err := p.NewStatus()
	if err != nil {
		return "", err
	}
	stat, err := p.Stat()
	switch {
	case err != nil:
		return "", err
	case len(status.NSpids) == 0:
		return "", fmt.Errorf("process %d has no number in its namespace", p.PID)
	case strings.Contains("ZX", stat.State):
		return "", fmt.Errorf("process %d is dead, but its parent has not waited for it yet", p.PID)
	}
	return fmt.Sprintf("%d/%d", status.NSpids[len(status.NSpids)-1], stat.Starttime), nil
}

// state returns whether the process of a label's value is still running.
func state(label string) State {
	part := strings.SplitN(label, "/", 3)
	if len(part) != 3 || strings.Count(part[2], "/") != 1 || part[0] == "" || part[0] != thisBoot() {
		return Unknown
	}
	in, own := part[1], part[2]
	all, err := procfs.AllProcs()
	if err != nil {
		return Unknown
	}
	for _, p := range all {
		if is, err := identify(p); err != nil || is != own {
			continue
		}
		if of, err := namespaceOf(p); err != nil || of == in { // those of other users may be unreadable
			return Going
		}
	}
	// A process that was not found has ended only if it would be visible here: /proc shows processes of other
	// users, and this process is in the same PID namespace or in the machine's.
	_, err = os.ReadFile("/proc/1/stat")
	self, selfErr := procfs.Self()
	if err != nil || selfErr != nil {
		return Unknown
	}
	if here, err := namespaceOf(self); err != nil || here != in && here != initialNamespace {
		return Unknown
	}
	return Ended
}
