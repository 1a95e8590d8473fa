package netns

import (
	"os"
	"strings"
)

// IsRoot reports whether this process is root of the machine itself, rather than root of a user namespace, which is
// an ordinary user.
func IsRoot() bool {
	if os.Geteuid() != 0 {
		return false
	}
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(users)), " ") == "0 0 4294967295"
}
