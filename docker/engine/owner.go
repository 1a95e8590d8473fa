package engine

import (
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// processLabel marks what nettoll has made with the process that made it: the boot of
// its machine, its PID namespace, its number there, and its start in clock ticks since
// the boot, with slashes between.
const processLabel = "nettoll.process"

// initialNamespace is the PID namespace of the machine itself, in which every process
// can be seen: PROC_PID_INIT_INO of the kernel.
const initialNamespace = "4026531836"

// State is whether a run still goes on.
type State string

// The states. A run on another machine, in a container that cannot be looked into from
// here, or before the last boot may go on or not: nobody here can tell.
const (
	Ended   State = "ended"
	Going   State = "going on"
	Unknown State = "unknown"
)

// thisProcess is the label's value for this process; empty where /proc does not tell.
func thisProcess() string {
	p, err := procfs.Self()
	if err != nil {
		return ""
	}
	label, err := labelOf(p)
	if err != nil {
		return ""
	}
	return label
}

// labelOf is the label's value for a process.
func labelOf(p procfs.Proc) (string, error) {
	in, err := namespaceOf(p)
	if err != nil {
		return "", err
	}
	own, err := identify(p)
	return strings.Join([]string{thisBoot(), in, own}, "/"), err
}

func thisBoot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// namespaceOf is the number of a process' PID namespace, whose name is "pid:[4026531836]".
func namespaceOf(p procfs.Proc) (string, error) {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.PID))
	return strings.TrimSuffix(strings.TrimPrefix(name, "pid:["), "]"), err
}

// identify gives the number that a process has in its own PID namespace, and its start.
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
		return "", fmt.Errorf("process %d is dead, though nobody has asked for its end yet", p.PID)
	}
	return fmt.Sprintf("%d/%d", status.NSpids[len(status.NSpids)-1], stat.Starttime), nil
}

// state says whether the process of a label's value still runs.
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
		if of, err := namespaceOf(p); err != nil || of == in { // others' may not be read
			return Going
		}
	}
	// That a process is not seen means something only where it would be.
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
