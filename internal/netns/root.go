package netns

import (
	"os"
	"strings"
)

// OneUser reports whether an ordinary user has made this process's user namespace, in which there is only one user: programs
// that give files to others, such as dockerd and containerd, do not work there.
func OneUser() bool {
	users, err := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(users))
	return err == nil && len(f) == 3 && f[2] == "1"
}

// IsRoot reports whether this process is root of the machine itself, rather than root of a user namespace, which is
// an ordinary user.
func IsRoot() bool {
	if os.Geteuid() != 0 {
		return false
	}
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(users)), " ") == "0 0 4294967295"
}
