package cgroup

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Name returns the name of this process's control group in the hierarchy of a controller of version 1, or in that of version 2 if
// controller is empty. It is relative to the process's namespace of control groups, with ".." for what is above that.
func Name(proc, controller string) (string, error) {
	path := filepath.Join(proc, "self/cgroup")
	groups, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) { // 4:memory:/path, or 0::/path of version 2
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2], nil
		}
	}
	return "", fmt.Errorf("%s names no control group of %s", path, cmp.Or(controller, "version 2"))
}

// Own returns the directory of this process's control group in a hierarchy that is mounted at a path; controller is as for Name.
// The kernel gives the root of the mount relative to the process's namespace, too.
func Own(proc, mounted, controller string) (string, error) {
	group, err := Name(proc, controller)
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "self/mountinfo"))
	if err != nil {
		return "", err
	}
	root := ""
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == mounted { // the last of several hides the others
			root = unescaped.Replace(f[3])
		}
	}
	below, inside := strings.CutPrefix(group+"/", strings.TrimSuffix(root, "/")+"/")
	switch {
	case root == "":
		return "", fmt.Errorf("nothing is mounted at %s", mounted)
	case !inside || !filepath.IsLocal("./"+below):
		return "", fmt.Errorf("its control group %s is not below %s, which is mounted at %s", group, root, mounted)
	}
	return filepath.Join(mounted, below), nil
}

// unescaped undoes how the kernel writes paths in mountinfo.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// Starved returns how many processes of this process's control group the kernel has killed because there was no memory left, in
// the group or on the machine: 0 where that is not known. A process that ends by SIGKILL while it increases was one of them,
// unless somebody has sent the signal.
func Starved() uint64 {
	text, _ := os.ReadFile(memoryEvents()) // there is none in the root of version 2
	return kills(string(text))
}

// ByKernel is what such a process's "signal: killed" is continued with.
const ByKernel = " by the kernel: out of memory (OOM)"

// memoryEvents returns the file that counts them. It is found once: nothing moves nettoll's processes to another group.
var memoryEvents = sync.OnceValue(func() string { return eventsIn("/proc", "/sys/fs/cgroup") })

func eventsIn(proc, mounted string) string {
	if group, err := Own(proc, filepath.Join(mounted, "memory"), "memory"); err == nil {
		return filepath.Join(group, "memory.oom_control")
	}
	if group, err := Own(proc, mounted, ""); err == nil {
		return filepath.Join(group, "memory.events")
	}
	return ""
}

// kills returns the number of killed processes in memory.events, or in memory.oom_control of version 1.
func kills(events string) uint64 {
	for line := range strings.Lines(events) {
		if number, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(number), 10, 64)
			return n
		}
	}
	return 0
}

// MostTasks returns how many processes and threads this process's control group may have together, or one that it is in; 0 where
// that is not limited, or not known. proc is "/proc", and mounted "/sys/fs/cgroup".
func MostTasks(proc, mounted string) (most int) {
	top := filepath.Join(mounted, "pids")
	group, err := Own(proc, top, "pids")
	if err != nil {
		if group, err = Own(proc, mounted, ""); err != nil {
			return 0
		}
		top = mounted
	}
	for ; strings.HasPrefix(group, top); group = filepath.Dir(group) {
		text, _ := os.ReadFile(filepath.Join(group, "pids.max"))                                            // the root has none
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && (most == 0 || n < most) { // otherwise it is "max"
			most = n
		}
	}
	return most
}
