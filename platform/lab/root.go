package lab

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// IsRoot reports whether this process is root of the machine itself, and not of a user
// namespace, where root is an ordinary user who is called so.
func IsRoot() bool {
	if os.Geteuid() != 0 {
		return false
	}
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(users)), " ") == "0 0 4294967295"
}

// mayMakeNamespaces reports whether this process can make namespaces of all kinds, and need
// not first become root of a user namespace of its own.
func mayMakeNamespaces() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	err := unix.Capget(&header, &sets[0])
	return err == nil && sets[unix.CAP_SYS_ADMIN/32].Effective&(1<<(unix.CAP_SYS_ADMIN%32)) != 0
}
