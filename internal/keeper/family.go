package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Family is a process and all that descends from it, in its process group or not: servers
// give their children sessions of their own.
func Family(pid int) []int {
	children := listed
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		children = parented() // a kernel that does not list children (CONFIG_PROC_CHILDREN)
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// listed are the children of a process. Other processes of the machine are not looked at, of
// which there can be hundreds.
func listed(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list) // fails when it has ended meanwhile
		for _, f := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// parented finds the same by looking at all processes, once.
func parented() func(pid int) []int {
	by := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The name in parentheses may hold anything. Behind it are the state and the parent.
		_, rest, _ := strings.Cut(string(b), "(")
		f := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(f) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(f[1]); err == nil {
			by[parent] = append(by[parent], child)
		}
	}
	return func(pid int) []int { return slices.Clone(by[pid]) }
}
