package dockerd

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"nettoll/platform"
)

// Proxies are the docker-proxy processes that serve a container's addresses.
func (h *Host) Proxies(at ...netip.Addr) ([]platform.Process, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var all []platform.Process
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		args := bytes.Split(b, []byte{0})
		if filepath.Base(string(args[0])) != "docker-proxy" || !serves(args, at) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, fmt.Errorf("docker: %s: %w", path, err)
		}
		all = append(all, daemon(pid))
	}
	return all, nil
}

// serves says whether the arguments of a docker-proxy name one of the addresses.
func serves(args [][]byte, at []netip.Addr) bool {
	for i := range len(args) - 1 {
		if string(args[i]) != "-container-ip" {
			continue
		}
		to, err := netip.ParseAddr(string(args[i+1]))
		for _, a := range at {
			if err == nil && a == to {
				return true
			}
		}
	}
	return false
}

// daemon is a process that belongs to the engine: it can be watched and nothing else.
type daemon int

func (d daemon) PID() int            { return int(d) }
func (daemon) Stdin() io.WriteCloser { return nil }
func (daemon) Stdout() io.Reader     { return nil }
func (daemon) Stderr() string        { return "" }
func (daemon) Wait() error           { return errNotOurs }
func (daemon) Kill() error           { return errNotOurs }

var errNotOurs = fmt.Errorf("docker: the process belongs to the engine")
