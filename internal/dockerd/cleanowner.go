package dockerd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// processLabel marks what nettoll has made with the process that made it: the boot of
// its machine, its PID namespace, its number there, and its start in clock ticks since
// the boot (proc(5), field 22 of stat), with slashes between.
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

// maker is a process, as its label has it.
type maker struct{ boot, namespace, pid, start string }

// thisProcess is the label's value for this process; empty where /proc does not tell.
func thisProcess() string {
	boot, namespace := thisBoot(), thisNamespace()
	pid, start, err := identify("/proc/self")
	if boot == "" || namespace == "" || err != nil {
		return ""
	}
	return strings.Join([]string{boot, namespace, pid, start}, "/")
}

func thisBoot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func thisNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return number(name)
}

// number is that of a namespace, whose name is "pid:[4026531836]".
func number(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "pid:["), "]")
}

// identify reads of a folder of /proc which number the process has in its own PID
// namespace, and when it was started.
func identify(dir string) (pid, start string, err error) {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return "", "", err
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if all := strings.Fields(numbers); len(all) > 0 {
				pid = all[len(all)-1]
			}
		}
	}
	// The name, the second field, can have anything in it, also parentheses.
	const stateField, startField = 3, 22
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	switch {
	case pid == "" || len(fields) <= startField-stateField:
		return "", "", fmt.Errorf("%s: no number or no start", dir)
	case strings.ContainsAny(fields[0], "ZX"):
		return "", "", fmt.Errorf("%s: it is dead, though nobody has asked for its end yet", dir)
	}
	return pid, fields[startField-stateField], nil
}

// state says whether the process of a label's value still runs.
func state(label string) State {
	part := strings.Split(label, "/")
	if len(part) != 4 || part[0] != thisBoot() {
		return Unknown
	}
	m := maker{part[0], part[1], part[2], part[3]}
	if m.runs() {
		return Going
	}
	// That a process is not seen means something only where it would be.
	_, err := os.ReadFile("/proc/1/stat")
	if here := thisNamespace(); err != nil || here != m.namespace && here != initialNamespace {
		return Unknown
	}
	return Ended
}

// runs looks for the process among all that can be seen.
func (m maker) runs() bool {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false
	}
	for _, dir := range all {
		pid, start, err := identify(dir)
		if err != nil || pid != m.pid || start != m.start {
			continue
		}
		in, err := os.Readlink(filepath.Join(dir, "ns/pid"))
		if err != nil || number(in) == m.namespace { // others' may not be read
			return true
		}
	}
	return false
}
