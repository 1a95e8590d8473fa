package dockerd

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
)

// Proxies are the docker-proxy processes that serve a container's addresses.
func (h *Host) Proxies(at ...netip.Addr) ([]Proxy, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var all []Proxy
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
		all = append(all, Proxy{pid, h.name})
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

// Proxy is a docker-proxy. It belongs to the engine: it can be watched and nothing else.
type Proxy struct {
	pid  int
	host string
}

func (p Proxy) PID() int            { return p.pid }
func (p Proxy) OnHost() string      { return p.host }
func (Proxy) Stdin() io.WriteCloser { return nil }
func (Proxy) Stdout() io.Reader     { return nil }
func (Proxy) Stderr() string        { return "" }
func (Proxy) Wait() error           { return errNotOurs }
func (Proxy) Kill() error           { return errNotOurs }

var errNotOurs = fmt.Errorf("docker: the process belongs to the engine")
