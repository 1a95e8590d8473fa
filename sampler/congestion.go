package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nettoll/network"
	"nettoll/record"
)

const (
	unpaced = "cubic"
	always  = "reno" // every kernel has it, and everybody may use it
)

// Congestion is a machine's support of TCP congestion control, by the kernel's names.
type Congestion struct {
	Own     string   // the default of connections
	There   []string // loaded or built in
	Allowed []string // available without CAP_NET_ADMIN
}

// ReadCongestion reads the machine's Congestion. proc is "/proc".
func ReadCongestion(proc string) (c Congestion, err error) {
	var own []string
	for name, to := range map[string]*[]string{
		"tcp_congestion_control": &own, "tcp_available_congestion_control": &c.There, "tcp_allowed_congestion_control": &c.Allowed,
	} {
		text, err := read(filepath.Join(proc, "sys/net/ipv4", name))
		if err != nil {
			return c, err
		}
		*to = strings.Fields(text)
	}
	if len(own) != 1 {
		return c, fmt.Errorf("sampler: %s/sys/net/ipv4/tcp_congestion_control names %d algorithms", proc, len(own))
	}
	c.Own = own[0]
	return c, nil
}

// TryCongestion reports, by its error, whether a connection of this process can use an algorithm.
// The kernel loads the algorithm's module for that, if it may.
func TryCongestion(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("sampler: %w", err)
	}
	defer unix.Close(fd)
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// Unpaced returns the algorithm to measure networks with: cubic, which sends as soon as it may
// instead of following a model of the path. With a paced sender the pacing would be measured. If
// cubic is not available, or only to privileged processes and some are not privileged, it returns
// the machine's default.
func (c Congestion) Unpaced(privileged bool) string {
	if slices.Contains(c.Allowed, unpaced) || privileged && slices.Contains(c.There, unpaced) {
		return unpaced
	}
	return c.Own
}

// Control is what an agent's connections can use.
type Control struct {
	Own    string   // the machine's default
	Usable []string // of those that were asked for
}

// usable returns the Control of this process.
func usable(names []string) (c Control, err error) {
	machine, err := ReadCongestion("/proc")
	if errors.Is(err, fs.ErrNotExist) { // as in containers that do not show it
		err = nil
	}
	c.Usable, c.Own = record.Those(names, func(name string) bool { return TryCongestion(name) == nil }), machine.Own
	return c, err
}

// AskCongestion returns the algorithm to measure networks with between agents on machines of any kind: as Unpaced, but one
// that all of them can use. It returns "" if there is none.
func AskCongestion(ctx context.Context, agents ...network.Agent) (string, error) {
	names := []string{unpaced}
	var common []string
	for range 2 { // the second time with what the first has told
		common = names
		var own []string
		for _, a := range agents {
			var c Control
			if err := a.Call(ctx, MethodCongestion, names, &c); err != nil {
				return "", fmt.Errorf("ask for congestion control: %w", err)
			}
			if c.Own != "" {
				own = record.AddNew(own, c.Own)
			}
			common = slices.DeleteFunc(slices.Clone(common), func(name string) bool { return !slices.Contains(c.Usable, name) })
		}
		if len(common) > 0 {
			return common[0], nil
		}
		names = append(own, always)
	}
	return "", nil
}
