package sampler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Congestion is what a machine has of TCP's congestion control, by the kernel's names.
type Congestion struct {
	Own     string   // of connections that ask for none
	There   []string // that are loaded or built in
	Allowed []string // to those without CAP_NET_ADMIN
}

// ReadCongestion reads it. proc is "/proc".
func ReadCongestion(proc string) (c Congestion, err error) {
	var own []string
	for name, to := range map[string]*[]string{
		"tcp_congestion_control": &own, "tcp_available_congestion_control": &c.There, "tcp_allowed_congestion_control": &c.Allowed,
	} {
		b, err := os.ReadFile(filepath.Join(proc, "sys/net/ipv4", name))
		if err != nil {
			return c, fmt.Errorf("sampler: %w", err)
		}
		*to = strings.Fields(string(b))
	}
	if len(own) != 1 {
		return c, fmt.Errorf("sampler: %s/sys/net/ipv4/tcp_congestion_control names %d algorithms", proc, len(own))
	}
	c.Own = own[0]
	return c, nil
}

// TryCongestion finds out whether a connection of this process can have an algorithm. The
// kernel loads its module for that, where it may.
func TryCongestion(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("sampler: %w", err)
	}
	defer unix.Close(fd)
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// Unpaced is the algorithm to measure networks with: cubic, which sends when it may and not when a
// model of the path says. A paced sender measures its pacing. Where it is not to be had, or not
// for everybody and somebody will not be privileged, it is the machine's own.
func (c Congestion) Unpaced(privileged bool) string {
	const unpaced = "cubic"
	if slices.Contains(c.Allowed, unpaced) || privileged && slices.Contains(c.There, unpaced) {
		return unpaced
	}
	return c.Own
}
