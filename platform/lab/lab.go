package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"nettoll/internal/netns"
	"nettoll/platform"
	"nettoll/record"
)

// Lab is the platform.
type Lab struct {
	mu      sync.Mutex
	leaving []*witness // for namespaces that the kernel is removing, the earliest first
}

// New returns the lab. The process must be Inside, or root: then namespaces are held by files of the process and
// are removed with it, and processes in them end with their input.
func New() *Lab { return &Lab{} }

// Info implements platform.Platform.
func (l *Lab) Info() platform.Info { return platform.Info{Name: "lab", Gone: l.Gone} }

// Probe implements platform.Platform: it makes one namespace.
func (*Lab) Probe(ctx context.Context) error {
	if !Inside() && os.Geteuid() != 0 {
		return &platform.Unsupported{
			Feature: "networks of the lab in a run on engines, machines or a cluster of yours", Option: "root",
			Remedy: "run as root, or measure the lab in a separate run",
		}
	}
	ns, err := quietly(ctx, 1, nothing)
	if err != nil {
		return explain(err)
	}
	return errors.Join(netns.Do(ns[0].Path(), needIPv6), ns[0].Close())
}

// needIPv6 returns an error if the current namespace, which is new, has no IPv6: every host gets addresses of both versions.
func needIPv6() error {
	off, err := os.ReadFile("/proc/sys/net/ipv6/conf/default/disable_ipv6")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &platform.Unsupported{
			Feature: "a lab", Option: "CONFIG_IPV6", Remedy: "boot without ipv6.disable=1, or use a kernel that has CONFIG_IPV6",
			Err: errors.New("the kernel has no IPv6"),
		}
	case err == nil && strings.TrimSpace(string(off)) == "1":
		return &platform.Unsupported{
			Feature: "a lab", Option: "IPv6 in new network namespaces",
			Remedy: "boot without ipv6.disable_ipv6=1, and: sysctl -w net.core.devconf_inherit_init_net=0",
			Err:    errors.New("it is turned off there"),
		}
	}
	return err
}

// maxHosts is how many hosts the address plan has room for.
const maxHosts = 15

// Hosts implements platform.Platform.
func (l *Lab) Hosts(ctx context.Context, req platform.HostRequest) (platform.Hosts, error) {
	if req.Count < 1 || req.Count > maxHosts {
		return nil, fmt.Errorf("lab: %d hosts: the lab has addresses for 1 to %d", req.Count, maxHosts)
	}
	s := &site{lab: l, mtu: cmp.Or(req.Underlay.MTU, underlayMTU)}
	for i := range req.Count {
		ns, err := s.namespace(ctx, 1, nothing)
		if err != nil {
			return nil, errors.Join(err, s.Close(context.Background()))
		}
		name := fmt.Sprintf("h%d", i+1)
		s.hosts = append(s.hosts, &host{
			endpoint: endpoint{name: name, host: name, ns: ns[0]},
			site:     s,
			index:    i,
		})
	}
	if err := s.wire(ctx, req.Underlay); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: underlay: %w", err), s.Close(context.Background()))
	}
	for _, h := range s.hosts {
		if req.Rules == 0 {
			break
		}
		if err := h.addRules(ctx, req.Rules); err != nil {
			return nil, errors.Join(fmt.Errorf("lab: %s: %w", h.Name(), err), s.Close(context.Background()))
		}
	}
	return s, nil
}

// site is a set of hosts with one underlay. It owns every namespace in it.
type site struct {
	lab   *Lab
	hosts []*host
	mtu   int // of the underlay
	all   []*netns.NS
}

// namespace makes namespaces that live as long as the site, and runs setup in each.
func (s *site) namespace(ctx context.Context, n int, setup func() error) ([]*netns.NS, error) {
	ns, err := quietly(ctx, n, setup)
	if errors.Is(err, unix.ENOSPC) {
		return nil, explain(err)
	}
	if err != nil {
		return nil, err
	}
	s.all = append(s.all, ns...)
	return ns, nil
}

// All implements platform.Hosts.
func (s *site) All() []platform.Host {
	return record.Each(s.hosts, func(h *host) platform.Host { return h })
}

// Transient implements platform.Hosts.
func (*site) Transient() bool { return true }

// Close implements platform.Hosts. The kernel removes the contents of the namespaces, which may take a while; see
// Gone.
func (s *site) Close(ctx context.Context) error {
	var last *witness
	if len(s.all) > many {
		s.hush()
		last = newWitness(ctx)
	}
	errs := record.Each(s.all, (*netns.NS).Close)
	s.all = nil
	if last != nil {
		errs = append(errs, last.end.Close())
		s.lab.mu.Lock()
		s.lab.leaving = append(s.lab.leaving, last)
		s.lab.mu.Unlock()
	}
	return errors.Join(errs...)
}
